"""Sentences to try a model with, in the language that it translates from."""

# By ISO 639-1; the same three sentences in each language.
SENTENCES: dict[str, tuple[str, str, str]] = {
    "en": ("The weather is nice today.", "Where is the nearest station?", "She has not read my book."),
    "de": ("Das Wetter ist heute schön.", "Wo ist der nächste Bahnhof?", "Sie hat mein Buch nicht gelesen."),
    "fr": ("Il fait beau aujourd'hui.", "Où est la gare la plus proche ?", "Elle n'a pas lu mon livre."),
    "es": ("Hoy hace buen tiempo.", "¿Dónde está la estación más cercana?", "Ella no ha leído mi libro."),
    "it": ("Oggi il tempo è bello.", "Dov'è la stazione più vicina?", "Lei non ha letto il mio libro."),
    "pt": ("O tempo está bom hoje.", "Onde fica a estação mais próxima?", "Ela não leu o meu livro."),
    "nl": ("Het is vandaag mooi weer.", "Waar is het dichtstbijzijnde station?", "Ze heeft mijn boek niet gelezen."),
    "sv": ("Vädret är fint idag.", "Var ligger närmaste station?", "Hon har inte läst min bok."),
    "ru": ("Сегодня хорошая погода.", "Где ближайший вокзал?", "Она не прочитала мою книгу."),
    "zh": ("今天天气很好。", "最近的车站在哪里？", "她没有读我的书。"),
    "ja": ("今日は天気がいいです。", "一番近い駅はどこですか。", "彼女は私の本を読んでいません。"),
}
ISO_639_3 = {
    "eng": "en", "deu": "de", "ger": "de", "fra": "fr", "fre": "fr", "spa": "es", "ita": "it", "por": "pt", "nld": "nl",
    "swe": "sv", "rus": "ru", "zho": "zh", "cmn": "zh", "jpn": "ja",
}  # fmt: skip
DEFAULT = "en"


def sentences_in(language: str) -> tuple[tuple[str, str, str], bool]:
    """Return three sentences in a language (`de`, `deu` or `de_DE`), or else in English, and whether they are in it."""
    code = language.lower().replace("_", "-").split("-")[0]
    code = ISO_639_3.get(code, code)
    return SENTENCES.get(code, SENTENCES[DEFAULT]), code in SENTENCES
