"""Common English words that can replace each other, for minimal pairs."""


def _table(text: str) -> tuple[tuple[str, ...], ...]:
    """The forms of each word, with commas between the words."""
    return tuple(tuple(forms.split()) for forms in text.split(","))


# Singular and plural of nouns; any two nouns of a group can stand for each other.
_NOUNS = """
man men, woman women, boy boys, girl girls, child children, baby babies, person people, friend friends, teacher
teachers, student students, doctor doctors, worker workers, player players, farmer farmers, soldier soldiers;
mother mothers, father fathers, brother brothers, sister sisters, son sons, daughter daughters, wife wives, husband
husbands;
dog dogs, cat cats, horse horses, bird birds, cow cows, sheep sheep, fish fish, animal animals;
shirt shirts, dress dresses, coat coats, jacket jackets, hat hats, suit suits, shoe shoes;
car cars, bus buses, train trains, bike bikes, boat boats, ship ships, truck trucks, plane planes;
house houses, school schools, church churches, hotel hotels, station stations, shop shops, store stores, building
buildings;
street streets, road roads, beach beaches, field fields, park parks, garden gardens, mountain mountains, hill hills,
river rivers, lake lakes;
city cities, town towns, village villages, country countries, region regions;
table tables, chair chairs, bed beds, door doors, window windows, wall walls, ladder ladders;
book books, letter letters, picture pictures, newspaper newspapers, song songs, story stories;
ball balls, toy toys, stick sticks, guitar guitars, camera cameras;
hand hands, arm arms, leg legs, head heads, foot feet, eye eyes;
day days, week weeks, month months, year years;
question questions, answer answers, problem problems, idea ideas
"""
NOUNS = tuple(map(_table, _NOUNS.split(";")))
ADJECTIVES = (
    ("red", "blue", "green", "black", "white", "yellow", "brown", "pink", "orange", "gray"),
    ("small", "little", "big", "large", "tall", "short", "long"),
    ("old", "young", "new"),
    ("good", "bad", "great"),
    ("hot", "cold", "warm"),
    ("one", "two", "three", "four", "five", "six"),
)
PRONOUNS = (
    ("he", "she", "it"),
    ("his", "her", "its", "my", "your", "our", "their"),
    ("him", "her", "it", "me", "us", "them"),
    ("himself", "herself", "itself"),
    ("I", "we", "you", "they"),
)
# Base form, third person and past. `be` has two past forms, so its plural and singular are apart.
VERBS = _table("""
is is was, are are were, have has had, do does did, run runs ran, go goes went, come comes came, see sees saw, know
knows knew, say says said, think thinks thought, take takes took, give gives gave, find finds found, make makes made,
stand stands stood, sit sits sat, lie lies lay, sleep sleeps slept, write writes wrote, eat eats ate, drink drinks
drank, speak speaks spoke, leave leaves left, buy buys bought, sing sings sang, swim swims swam, ride rides rode, drive
drives drove, hold holds held, wear wears wore, live lives lived, play plays played, walk walks walked, work works
worked, look looks looked, love loves loved, want wants wanted, need needs needed, help helps helped, ask asks asked,
laugh laughs laughed, smile smiles smiled, jump jumps jumped, climb climbs climbed, wait waits waited, open opens
opened, close closes closed
""")
SINGULAR_TO_PLURAL = {
    "is": "are",
    "was": "were",
    "has": "have",
    "does": "do",
    "a": "two",
    "an": "two",
    "the": "the",
    "this": "these",
    "that": "those",
    "one": "two",
}
DETERMINERS = frozenset({"a", "an", "the", "this", "that", "one"})  # those with a plural above
# Words after which a noun phrase begins: after a preposition it is not a subject, after a conjunction it may be one.
PREPOSITIONS = frozenset(
    {"of", "in", "on", "at", "with", "to", "for", "from", "by", "about", "under", "over", "through", "across", "into"}
)
CONJUNCTIONS = frozenset({"that", "because", "but", "if", "when", "while", "where", "since", "although"})
COORDINATIONS = frozenset({"and", "or"})
RELATIVES = frozenset({"who", "which", "whose"})
# Words after which a verb is not finite: "to run", "does not run", "has run".
BEFORE_INFINITIVE = frozenset(
    {"to", "t", "not", "do", "does", "did", "can", "could", "will", "would", "shall", "should", "may", "might", "must"}
    | {"have", "has", "had", "is", "are", "was", "were", "be", "been", "let", "never"}
)
