"""Every script gets a tokenizer under which a text equals itself."""

import pytest
from sacrebleu.metrics.bleu import BLEU

from core.text import bleu_tokenizers
from core.text.bleu_tokenizers import PACKAGES, bleu_tokenizer, lacks_spaces, missing_packages, usual_tokenizer

CHINESE = ["我今天去学校。", "他买了三本书。", "今天天气很好。"]
JAPANESE = ["今日は学校に行きます。", "コーヒーを三杯飲んだ。"]
KOREAN = ["오늘 학교에 가요.", "책을 샀어요."]
THAI = ["วันนี้ฉันไปโรงเรียน", "อากาศดีมาก"]
GERMAN = ["Heute gehe ich in die Schule.", "Er hat drei Bücher gekauft."]


@pytest.mark.parametrize(
    ("references", "usual"),
    [
        (CHINESE, "zh"),
        (JAPANESE, "ja-mecab"),
        (["ﾄｳｷｮｳﾀﾜｰ"], "ja-mecab"),
        (KOREAN, "ko-mecab"),
        (THAI, "char"),
        (["ຂ້ອຍໄປໂຮງຮຽນ"], "char"),
        (["ខ្ញុំទៅសាលារៀន"], "char"),
        (["ကျွန်တော်ကျောင်းသွားတယ်"], "char"),
        (GERMAN, "13a"),
        (["Сегодня я иду в школу.", "אני הולך לבית הספר", "אני הולך", "أذهب إلى المدرسة"], "13a"),
        (["मैं आज स्कूल जाता हूँ।", "12 + 30 = 42", ""], "13a"),
        ([], "13a"),
    ],
)
def test_the_script_of_the_references_chooses(references: list[str], usual: str) -> None:
    assert usual_tokenizer(references) == usual_tokenizer(references, "de") == usual


def test_a_few_foreign_words_choose_nothing() -> None:
    assert bleu_tokenizer(["Sie wohnt in 北京 und liest gern auf dem Balkon ihres Hauses.", *GERMAN]) == "13a"
    assert bleu_tokenizer(["我今天用 PyTorch 训练 Transformer 模型。"]) == "zh"
    assert usual_tokenizer([*CHINESE, "东京的ラーメン很好吃。"] * 3) == "zh"


def test_the_language_chooses_where_it_has_a_tokenizer_of_its_own() -> None:
    assert usual_tokenizer(["東京大学"], "ja") == usual_tokenizer(["東京大学"], "ja_JP") == "ja-mecab"
    assert usual_tokenizer(["東京大学"]) == "zh"
    assert usual_tokenizer(["a b"], "zh-TW") == "zh"


def test_what_is_not_installed_gives_way_to_characters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bleu_tokenizers, "find_spec", lambda _name: None)
    assert bleu_tokenizer(JAPANESE) == bleu_tokenizer(KOREAN) == "char"
    assert missing_packages("ja-mecab") == "pip install 'sacrebleu[ja]'"
    assert missing_packages("ko-mecab") == "pip install 'sacrebleu[ko]'"
    assert not missing_packages("zh")
    monkeypatch.setattr(bleu_tokenizers, "find_spec", lambda name: name)
    assert (bleu_tokenizer(JAPANESE), bleu_tokenizer(KOREAN)) == tuple(PACKAGES)


def test_all_chosen_tokenizers_are_sacrebleus() -> None:
    names = {*bleu_tokenizers.LANGUAGES.values(), *bleu_tokenizers.SCRIPTS.values(), bleu_tokenizers.DEFAULT}
    assert names <= set(BLEU.TOKENIZERS)
    assert not any(name in ("spm", "flores101", "flores200", "spBLEU-1K") for name in names), "these are downloaded"


def test_a_text_without_spaces_is_seen() -> None:
    assert lacks_spaces(CHINESE)
    assert lacks_spaces(THAI)
    assert not lacks_spaces(GERMAN)
    assert not lacks_spaces(KOREAN)
    assert not lacks_spaces(["", "12 + 30"])
