"""Twenty sentences that show something, and what to look at in each.

Everything that can be stated as a property of the model stands in a field that `pages.checked` compares with what the
model does: the translation, links of heads, tokens that were nearly chosen, other hypotheses.
"""

from dataclasses import dataclass

from core.text.phrases import marked


@dataclass(frozen=True)
class Exhibit:
    """A sentence, its translation, and where to look.

    Attributes:
        name: of its file.
        title: what it shows.
        source, translation: the sentence, and what the model makes of it by a beam search of 4.
        text: what to look at, and why; words between asterisks are emphasised.
        links: of heads, such as `cross L5 H8: fährt > departs`: in the row that predicts *fährt*, or that of this word
            in the encoder, the largest weight is on *departs*. Words, or pieces of words. The first is shown at first.
        questions: three, for a class. A link leads to where one can be answered: `[Try it](page)` to the sentence on
            the static page, `(page: SENTENCE)` to another one, `(NAME)` to a view of the app or to another exhibit.
        rivals: pieces of the translation and another one that was among the most probable in its place.
        others: further hypotheses of the search.
        model: a shipped checkpoint.
        variants: other sentences that the texts mention, with their translations.
        off: a head that is turned off in the translation and in the page.
        blind: a head of the links that gives as much in the sentence's minimal pair, as the notice says. What such a
            pair says of the links' heads is added to the text.
        notice: what to notice, as the static page says it, where this is an example. It names the head of one of the
            links, which is shown there; the word that attends, which is one piece, comes first.
    """

    name: str
    title: str
    source: str
    translation: str
    text: str
    links: tuple[str, ...]
    questions: tuple[str, str, str]
    rivals: tuple[tuple[str, str], ...] = ()
    others: tuple[str, ...] = ()
    variants: tuple[tuple[str, str], ...] = ()
    model: str = "en-de"
    off: str = ""
    blind: str = ""
    notice: str = ""


EXHIBITS = (
    Exhibit(
        "pronoun",
        "A pronoun and its noun",
        "The animal didn't cross the street because it was too tired.",
        "Das Tier überquerte die Straße nicht, weil es zu müde war.",
        "What is tired, the animal or the street? In encoder L5 H2 *it* attends most to *animal*; but in encoder L1 H3 "
        "it attends most to *street*, so that one head's picture is no proof that the model has understood.",
        ("encoder L5 H2: it > animal", "encoder L1 H3: it > street", "cross L4 H7: es > it"),
        (
            "Replace *tired* by *wide*. Does *it* still attend to *animal* in encoder L5 H2? Should it? "
            "[Try it](page: The animal didn't cross the street because it was too wide.)",
            "How many of the 48 heads of the encoder attend from *it* to *animal* more than to any other word? "
            "[All heads](heads)",
            "The German *es* agrees with *Tier*. Which of *er*, *sie*, *es* would be right for *Straße*?",
        ),
        rivals=(("es", "er"), ("es", "sie")),
        blind="encoder L5 H2",
        notice=marked(
            "In encoder L5 H2 “it” attends most to “animal”, and as much if it is the street that is too wide: the "
            "head does not tell the two apart."
        ),
    ),
    Exhibit(
        "wrong_pronoun",
        "The link is there, the word is wrong",
        "The cat drank the milk because it was hungry.",
        "Die Katze trank die Milch, weil es hungrig war.",
        "In German a cat is *sie*, yet the model writes *es*, with *sie* as the second choice. Encoder L2 H6 attends "
        "from *it* to *cat* all the same: where a head looks does not say what the model makes of it.",
        ("encoder L2 H6: it > cat", "encoder L2 H5: it > milk", "cross L4 H7: es > it"),
        (
            "Which heads attend from *it* to *milk*? Would *es* be right for the milk? [All heads](heads)",
            "Read the alternatives of *es* in the table. How sure is the model?",
            "Find an English sentence in which *es* is right for *it*, and one in which it must be *er*. "
            "[Try it](page)",
        ),
        rivals=(("es", "sie"),),
        others=("Die Katze trank die Milch, weil sie hungrig war.",),
    ),
    Exhibit(
        "word_order",
        "A verb goes to the end",
        "Yesterday I read a book in the garden.",
        "Gestern habe ich ein Buch im Garten gelesen.",
        "One English verb becomes two German ones, in the second and in the last place. Cross L6 H5 attends to *read* "
        "for both of them, and when the last one is due, decoder L5 H4 attends to *habe*, which announced it.",
        ("cross L6 H5: gelesen > read", "cross L6 H5: habe > read", "decoder L5 H4: gelesen > habe"),
        (
            "*Read* can be present or past. Which word of the sentence decides it? "
            "[Without Yesterday](page: I read a book in the garden.)",
            "Where do the lines of cross L6 H5 cross each other, and what does a crossing mean?",
            "Why must the decoder look at its own words to write *gelesen*?",
        ),
    ),
    Exhibit(
        "separable_verb",
        "One verb, two places",
        "The train departs at seven o'clock.",
        "Der Zug fährt um sieben Uhr ab.",
        "*Departs* is *fährt ... ab*. Cross L5 H8 attends to it for the first half and cross L6 H2 for the second, and "
        "decoder L5 H4 attends from the place of *ab* back to *fährt*, four words earlier.",
        ("cross L5 H8: fährt > departs", "cross L6 H2: ab > departs", "decoder L5 H4: ab > fährt"),
        (
            "What would *Der Zug fährt um sieben Uhr* mean without *ab*?",
            "How probable is *fährt*, and which other verbs does the model consider? [Click it](page)",
            "Compare with the next sentence: do the same heads do the same there? [The next sentence](same_heads)",
        ),
        rivals=(("fährt", "geht"), ("ab", "an")),
        notice=marked("In cross L6 H2 “ab” attends to “departs”, which “fährt” began to translate four words before."),
    ),
    Exhibit(
        "same_heads",
        "The same heads again",
        "He takes off his shoes.",
        "Er nimmt seine Schuhe aus.",
        "Cross L5 H8 attends to the verb and cross L6 H2 to what completes it, as in the sentence with the train. The "
        "heads are right and the verb is wrong: shoes are taken off with *zieht ... aus*.",
        ("cross L6 H2: aus > off", "cross L5 H8: nimmt > takes", "encoder L3 H8: takes > off"),
        (
            "In which of the two languages do the halves of the verb stand closer together?",
            "Another hypothesis is *Er nimmt seine Schuhe ab*. Which of the two would be understood?",
            "Invent a sentence that would show that cross L6 H2 does something else. [Try it](page)",
        ),
        rivals=(("nimmt", "macht"),),
        others=("Er nimmt seine Schuhe ab.",),
    ),
    Exhibit(
        "compound",
        "Three words become one",
        "The climate protection programme was successful.",
        "Das Klimaschutzprogramm war erfolgreich.",
        "German writes as one word what English writes as three; the model composes it of six pieces. Cross L4 H3 "
        "attends to *climate* for *Kl*, L4 H7 to *protection* for *asch*, the piece across the seam of *Klima* and "
        "*schutz*, and L5 H4 to *programme* for *gramm*.",
        ("cross L4 H7: asch > protection", "cross L4 H3: Kl > climate", "cross L5 H4: gramm > programme"),
        (
            "The article *Das* is written before the compound. On which of its parts does it depend?",
            "Translate *programme protection climate* into one German word. What has changed?",
            "Why does a model with 8,000 pieces need no entry for *Klimaschutzprogramm*?",
        ),
        rivals=(("Das", "Der"),),
    ),
    Exhibit(
        "looking_back",
        "Inside a compound, two heads look at different words",
        "The minister of finance resigned.",
        "Der Finanzminister trat zurück.",
        "The compound turns the order round: *minister of finance* is *Finanzminister*. Cross L5 H6 attends to "
        "*minister* already while *Finanz* is written, where cross L5 H3 attends to *finance*.",
        (
            "cross L5 H6: Finanzminister > minister",
            "cross L5 H6: Finanz > minister",
            "cross L5 H3: Finanzminister > finance",
            "cross L5 H8: trat > resigned",
        ),
        (
            "Switch between cross L5 H6 and L5 H3. Which of them would you call an aligner?",
            "Where has *of* gone? [Alignment](alignment)",
            "Translate *The finance minister resigned*. Do the two heads still differ? "
            "[Try it](page: The finance minister resigned.)",
        ),
    ),
    Exhibit(
        "negation",
        "Negation in two words",
        "He has never seen the sea.",
        "Il n'a jamais vu la mer.",
        "French puts negation round the verb: *n'* and *jamais*. Cross L6 H7 attends to *never* for *jamais*, and "
        "cross L4 H2 attends to it for *n'a* as well, a word before its turn.",
        ("cross L4 H2: n'a > never", "cross L6 H7: jamais > never"),
        (
            "Which words of the translation have no word of their own in English? [Alignment](alignment)",
            "What would the sentence mean with *pas* in place of *jamais*?",
            "Why has the model to know of *never* before it writes *n'*?",
        ),
        rivals=(("jamais", "pas"),),
        model="en-fr",
        notice=marked("In cross L6 H7 “jamais”, the second half of the negation, attends to “never”."),
    ),
    Exhibit(
        "head_off",
        "One head off, and the negation is gone",
        "The animal didn't cross the street because it was too tired.",
        "Das Tier überquerte die Straße, weil es zu müde war.",
        "Here cross L6 H7 is turned off, and the translation says the contrary: *nicht* is missing. With the head on "
        "it is there, as in the first sentence; cross L4 H7 attends from *es* to *it* in both.",
        ("cross L4 H7: es > it",),
        (
            "Does this prove that cross L6 H7 is the head of negation? What else could be the reason? "
            "[Switches](switches)",
            "Cross L6 H7 is empty here. Which heads could have done its work, and did not? [Switches](switches)",
            "Plan an experiment with ten sentences that could show you wrong.",
        ),
        off="cross L6 H7",
    ),
    Exhibit(
        "wrong_sense",
        "The wrong match",
        "The match burned in his hand.",
        "Das Spiel verbrannte in der Hand.",
        "*Spiel* is a game; a match that burns is a *Streichholz*. Encoder L3 H8 attends from *match* to *burned*, so "
        "the clue has been read, and the model writes the word for what is played all the same.",
        ("encoder L3 H8: match > burned", "cross L4 H6: Spiel > match"),
        (
            "Which words of the sentence tell you that nobody plays? [Why A rather than B](contrast)",
            "The model has read talks, debates and captions of pictures. Which matches does one meet there? "
            "[Corpus](corpus)",
            "Would more training data help, or another model?",
        ),
        notice=marked(
            "In encoder L3 H8 “match” attends to “burned”, and yet the wrong word is written: “Spiel” is a game."
        ),
    ),
    Exhibit(
        "river_bank",
        "A bench in the river",
        "He sat on the bank of the river.",
        "Er saß auf der Bank des Flusses.",
        "*Bank* is a bench or a bank for money, never the side of a river: that is *Ufer*, whose first piece comes "
        "second. Encoder L3 H5 attends from *bank* to *river*, so the clue has been read and was not decisive.",
        ("encoder L3 H5: bank > river", "cross L4 H2: Bank > bank"),
        (
            "Another hypothesis begins with *Er saß am Ufer*. Why must *am* be decided before *Ufer*? [Beam](beam)",
            "Is *saß* a clue for the bench? Try *He swam to the bank of the river*. "
            "[Try it](page: He swam to the bank of the river.)",
            "Which English words would you add so that nobody can misunderstand it? [Try it](page)",
        ),
        rivals=(("Bank", "U"),),
        others=("Er saß am Ufer des Flusses.",),
    ),
    Exhibit(
        "wrong_number",
        "Six people are missing",
        "Twenty-eight people were injured.",
        "Zweiundzwanzig Menschen wurden verletzt.",
        "Twenty-eight have become twenty-two, in fluent German. Cross L4 H7 attends to *Twenty-eight* as it should: "
        "look at the number as pieces, and at how probable the first piece of *Zwanzig* is beside that of *Zwei*.",
        ("cross L4 H7: Zweiundzwanzig > Twenty-eight", "cross L6 H1: Menschen > people"),
        (
            "In German the ones come first: *achtundzwanzig*. Why is that hard to write from left to right?",
            "Would you notice the mistake if you could not read English?",
            "How could a program check numbers in translations? [Score a file](score)",
        ),
        rivals=(("Zwei", "Zw"),),
    ),
    Exhibit(
        "digits",
        "Digits are copied, the comma is not",
        "In 1987, 3,417 people lived in the village.",
        "1987 lebten 3.417 Menschen im Dorf.",
        "Numbers in digits survive: cross L4 H2 attends from *3.417* to *3,417*, piece by piece. The comma becomes a "
        "point, as German writes it, and cross L5 H8 finds the verb *lived*, which has moved before the number.",
        ("cross L4 H2: 3.417 > 3,417", "cross L5 H8: lebten > lived"),
        (
            "What would a reader in Berlin understand by *3,417*?",
            "Why does the sentence no longer begin with *In*?",
            "Try *1,234,567 inhabitants*. Do its commas become points as well? [Try it](page: 1,234,567 inhabitants)",
        ),
        rivals=(("Menschen", "Personen"),),
    ),
    Exhibit(
        "omission",
        "A sentence is left out, and another one said twice",
        "He came. He saw. He won.",
        "Er kam. Er hat gewonnen. Er hat gewonnen.",
        "*He saw* is gone, and *He won* stands in its place, too. In the row of the first *gewonnen*, cross L4 H4 "
        "attends to *won*, but cross L5 H6 to *saw*, so attention does not show the gap.",
        ("cross L4 H4: gewonnen > won", "cross L5 H6: gewonnen > saw", "cross L6 H1: kam > came"),
        (
            "Which other heads attend to *saw*? In the rows of which words? [All heads](heads)",
            "How much less probable is *Er kam. Er sah. Er hat gewonnen* for the model? [Translation](translate)",
            "How could a program notice that a sentence is missing? [Score a file](score)",
        ),
        others=("Er kam. Er hat gesehen. Er hat gewonnen.",),
    ),
    Exhibit(
        "title",
        "Mrs decides before her turn",
        "My friend Mrs Brown is a doctor.",
        "Meine Freundin Frau Brown ist Arzt.",
        "With *Mr* the translation begins with *Mein Freund*. Cross L6 H5 attends to *Mrs* already for *Meine*, two "
        "words before its turn, L4 H8 to *friend* for *Freundin*, and L5 H1 copies the name; yet *Arzt* is a man.",
        ("cross L6 H5: Meine > Mrs", "cross L4 H8: Freundin > friend", "cross L5 H1: Brown > Brown"),
        (
            "Replace *Mrs* by *Dr*. What does the model write, and how sure is it? "
            "[Try it](page: My friend Dr Brown is a doctor.)",
            "Which other heads attend to *Mrs* in the rows of *Meine* and *Freundin*? [All heads](heads)",
            "Compare with the teacher who is a sister: what do the two sentences have in common? [The teacher](gender)",
        ),
        rivals=(("Meine", "Mein"),),
        variants=(("My friend Mr Brown is a doctor.", "Mein Freund Brown ist Arzt."),),
    ),
    Exhibit(
        "case",
        "Where to, or where?",
        "He put the book on the table.",
        "Er legte das Buch auf den Tisch.",
        "After *auf*, German asks *where to?* (*den Tisch*) or *where?* (*dem Tisch*). The verb decides: while *den* "
        "is written, decoder L4 H5 attends to *legte*, and cross L3 H1 to *put*; cross L5 H2 looks ahead to *table*.",
        ("decoder L4 H5: den > legte", "cross L3 H1: den > put", "cross L5 H2: den > table"),
        (
            "What would *Er legte das Buch auf dem Tisch* mean?",
            "English has one *put*, German *legen*, *stellen* and *setzen*. When is which right?",
            "Which head tells the decoder that *Tisch* is masculine, before it is written? "
            "[What heads write](contributions)",
        ),
        others=("Er stellte das Buch auf den Tisch.",),
    ),
    Exhibit(
        "adjectives",
        "Adjectives change places",
        "I see a red house and a white cat.",
        "Je vois une maison rouge et un chat blanc.",
        "In French the colour follows the noun and agrees with it. Cross L4 H3 attends to *red* for *rouge*, so its "
        "lines cross; decoder L1 H4 attends from *blanc* to *chat*, on whose gender its ending depends.",
        ("cross L4 H3: rouge > red", "decoder L1 H4: blanc > chat", "cross L5 H4: blanc > white"),
        (
            "Why *blanc* and not *blanche*? Which word would change it? [Why A rather than B](contrast)",
            "How probable is *une* at its place, when neither *maison* nor *rouge* is written yet? [Click it](page)",
            "Do all heads that attend from *rouge* to *red* attend from *maison* to *house*? [All heads](heads)",
        ),
        model="en-fr",
        notice=marked(
            "In cross L4 H3 the line of “rouge” to “red” crosses that of “maison”: in French the colour comes second."
        ),
    ),
    Exhibit(
        "reversed",
        "Every word right, the sentence wrong",
        "I miss you.",
        "Je te manque.",
        "*Je te manque* means *you miss me*: in French, who is missed is the subject. Cross L1 H5 attends from *Je* to "
        "*I* and L5 H6 from *te* to *you*, so the alignment is faultless; *Tu*, the right beginning, is a rival.",
        ("cross L5 H6: te > you", "cross L1 H5: Je > I", "cross L6 H5: manque > miss"),
        (
            "How would a good alignment of *Tu me manques* look?",
            "Can you find the mistake by looking at the weights alone?",
            "Which other verbs turn subject and object round in a language that you know?",
        ),
        rivals=(("Je", "Tu"),),
        model="en-fr",
        notice=marked(
            "In cross L5 H6 “te” attends to “you”, as it should; yet the sentence turns round who misses whom."
        ),
    ),
    Exhibit(
        "gender",
        "A teacher who is a sister",
        "My sister is a teacher. She works in Hamburg.",
        "Meine Schwester ist Lehrer. Sie arbeitet in Hamburg.",
        "German would say *Lehrerin*, and decoder L4 H6 attends from *Lehrer* to *Schwester*, where the reason stands. "
        "The model prefers the masculine *Lehrer*; *Lehrerin* is in another of the hypotheses that the search found.",
        ("decoder L4 H6: Lehrer > Schwester", "cross L5 H5: Lehrer > teacher"),
        (
            "What does the model write for *My brother is a teacher*, and what for *My sister is a nurse*? "
            "[The brother](page: My brother is a teacher. He works in Hamburg.) "
            "[The nurse](page: My sister is a nurse. She works in Hamburg.)",
            "Whose habit is this: the model's, that of its data, or that of the language?",
            "Design a test with fifty sentences that measures it. [A test set](test_set)",
        ),
        rivals=(("Lehrer", "Lehr"),),
        others=("Meine Schwester ist Lehrerin. Sie arbeitet in Hamburg.",),
    ),
    Exhibit(
        "capitals",
        "It does not know these words",
        "GOOD MORNING.",
        "GOOD MORNING.",
        "In capitals the words fall into pieces that the model has hardly seen, so it copies letters: "
        "cross L3 H8 attends from *G* to *G*, L4 H8 from *N* to *N*. In the second hypothesis an O is lost on the way.",
        ("cross L3 H8: G > G", "cross L4 H8: N > N"),
        (
            "Write the sentence in small letters. Why is that another sentence for the model? "
            "[Try it](page: Good morning.)",
            "Compare the number of tokens of *MORNING* and *morning*. [Try it](page: MORNING morning)",
            "What should a translator do with capitals: learn them, or be spared them?",
        ),
        others=("GOD MORNING.",),
    ),
)

# Of the small model, for the static page alone.
CAPTIONS = (
    Exhibit(
        "ahead",
        "",
        "A little girl in a pink dress is climbing up a set of stairs.",
        "Ein kleines Mädchen in einem rosafarbenen Kleid klettert eine Treppe hinauf.",
        "",
        ("cross L3 H1: kleines > girl",),
        ("", "", ""),
        model="multi30k",
        notice=marked(
            "In cross L3 H1 “kleines” attends one word ahead, to “girl”: its ending depends on the noun, “Mädchen”."
        ),
    ),
    Exhibit(
        "behind",
        "",
        "Two dogs are running through the snow.",
        "Zwei Hunde laufen durch den Schnee.",
        "",
        ("cross L1 H3: laufen > dogs",),
        ("", "", ""),
        model="multi30k",
        notice=marked(
            "In cross L1 H3 “laufen” attends one word back, to “dogs”, of which “Hunde” has just been written."
        ),
    ),
)
