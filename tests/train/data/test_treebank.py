"""Penn Treebank trees to training data."""

import lzma
import re
from pathlib import Path

import pytest

from core.parsing.parser import Brackets
from core.parsing.trees import Tree, linearise, read_trees
from core.text.tokenizer import SPACE_MARK, SentencePieceTokenizer
from tests.train.conftest import contents
from train.__main__ import main
from train.data.token_shards import DataError, TokenShards
from train.data.treebank import Treebank, clean, prepare_trees

TRACES = """( (S
    (NP-SBJ-1 (DT The) (NN ship) )
    (VP (VBD was)
      (VP (VBN seen)
        (NP (-NONE- *-1) )
        (PP-LOC=2 (IN by) (NP (NNP O'Brien) ))))
    (. .) ))
"""


def cleaned(text: str) -> Tree | None:
    (tree,) = read_trees(text)
    return clean(tree)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (TRACES, "(S (NP (DT The) (NN ship)) (VP (VBD was) (VP (VBN seen) (PP (IN by) (NP (NNP O'Brien))))) (. .))"),
        ("(TOP (S (NP (NN sea))))", "(S (NP (NN sea)))"),
        ("( (S1 (ROOT (NP (NN sea)))))", "(NP (NN sea))"),
        ("( (NP (NN sea)) (. .))", "(TOP (NP (NN sea)) (. .))"),  # no constituent spans both
        ("( (NN sea))", "(TOP (NN sea))"),
        (
            "(S (ADVP|PRT (RB up)) (-LRB- -LRB-) (SBAR (-NONE- 0) (S (-NONE- *T*-1))))",
            "(S (ADVP (RB up)) (-LRB- -LRB-))",
        ),
    ],
)
def test_a_tree_is_cleaned(given: str, expected: str) -> None:
    assert str(cleaned(given)) == expected


def test_nothing_is_left_of_a_tree_of_traces() -> None:
    assert cleaned("( (S (NP (-NONE- *))))") is None


SENTENCES = [
    f"( (S (NP-SBJ (DT The) (NN {noun})) (VP (VBZ {verb}s)) (. .)))"
    for noun in ("dog", "cat", "man")
    for verb in ("run", "sleep", "sing")
]


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """Nine trees of three documents, with their ids."""
    trees, ids = tmp_path / "trees.mrg.xz", tmp_path / "ids"
    trees.write_bytes(lzma.compress("\n".join(SENTENCES).encode()))
    ids.write_text("".join(f"doc_{number // 3}\n" for number in range(9)), encoding="utf-8")
    return trees, ids


def test_trees_become_a_tokenizer_and_shards(
    files: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = tmp_path / "data"
    ranges = ["--train", "doc_0", "doc_0", "--valid", "doc_1", "doc_1", "--test", "doc_2", "doc_2"]
    command = ["prepare-trees", str(data), "--trees", str(files[0]), "--ids", str(files[1]), "--vocab-size", "300"]
    assert main([*command, *ranges]) == 0
    assert '"pairs_read": 3' in capsys.readouterr().out
    tokenizer = SentencePieceTokenizer.from_file(data / "tokenizer.model")
    source, target = TokenShards(data / "train").pair(0)
    assert tokenizer.decode(source) == "The dog runs ."
    symbols = ["(S", "(NP", "XX", "XX", ")NP", "(VP", "XX", ")VP", "XX", ")S"]
    assert [tokenizer.piece(token) for token in target] == [SPACE_MARK + symbol for symbol in symbols]
    assert len(TokenShards(data / "valid")) == 3
    kept = list(Treebank([data / "trees" / "test.mrg"]))
    assert [" ".join(tree.words()) for tree in kept] == ["The man runs .", "The man sleeps .", "The man sings ."]
    assert linearise(kept[0])[0] == "(S"


def test_tags_are_pieces(files: tuple[Path, Path], tmp_path: Path) -> None:
    trees = Treebank([files[0]])
    prepare_trees(tmp_path / "data", {"train": trees, "valid": trees}, 300, leaves="tags")
    tokenizer = SentencePieceTokenizer.from_file(tmp_path / "data" / "tokenizer.model")
    _, target = TokenShards(tmp_path / "data" / "train").pair(0)
    assert "".join(map(tokenizer.piece, target)) == " (S (NP XX/DT XX/NN )NP (VP XX/VBZ )VP XX/. )S".replace(
        " ", SPACE_MARK
    )
    assert len(target) == 10  # one piece each
    assert len(Brackets.of(tokenizer).words) == 4


def test_words_stand_before_the_brackets_in_front_of_them(files: tuple[Path, Path], tmp_path: Path) -> None:
    trees = Treebank([files[0]])
    prepare_trees(tmp_path / "data", {"train": trees, "valid": trees}, 300, leaves="words")
    tokenizer = SentencePieceTokenizer.from_file(tmp_path / "data" / "tokenizer.model")
    source, target = TokenShards(tmp_path / "data" / "train").pair(0)
    text = "".join(map(tokenizer.piece, target)).replace(SPACE_MARK, " ")
    assert text == " The (S (NP /DT dog /NN runs )NP (VP /VBZ . )VP /. )S"
    symbols = {token for token in target if tokenizer.piece(token)[1:2] in ("(", ")", "/")}
    assert [token for token in target if token not in symbols] == source  # tokenized as in the sentence
    brackets = Brackets.of(tokenizer)
    assert brackets.spelled
    assert len(brackets.words) == 4


def test_other_trees_are_only_replaced_with_overwrite(files: tuple[Path, Path], tmp_path: Path) -> None:
    folder, parts = tmp_path / "data", dict.fromkeys(("train", "valid"), Treebank([files[0]]))
    for _ in range(2):  # repeating it has no effect
        prepare_trees(folder, parts, 300)
    before = contents(folder)
    advice = "give another folder, or --overwrite"
    with pytest.raises(
        DataError, match=rf"data holds other trees \(train\.target, valid\.target would change\): {advice}"
    ):
        prepare_trees(folder, parts, 300, leaves="tags")
    with pytest.raises(DataError, match=rf"vocab_size \(300, not 290\): {advice}"):
        prepare_trees(folder, parts, 290)
    assert contents(folder) == before
    prepare_trees(folder, parts, 300, leaves="tags", overwrite=True)
    assert "XX/DT" in (folder / "trees" / "train.target").read_text(encoding="utf-8")


def test_phrases_become_sentences(files: tuple[Path, Path], tmp_path: Path) -> None:
    ship = Treebank([tmp_path / "ship"])
    # repeated trees are kept, repeated phrases are not
    (tmp_path / "ship").write_text(TRACES + TRACES, encoding="utf-8")
    prepare_trees(tmp_path / "data", {"train": ship, "valid": ship}, 300, with_phrases=True)
    text = tmp_path / "data" / "trees"
    sentence = "The ship was seen by O'Brien ."
    phrases = ["The ship", "was seen by O'Brien", "seen by O'Brien", "by O'Brien"]
    assert (text / "train.source").read_text(encoding="utf-8").splitlines() == [sentence, sentence, *phrases]
    assert (text / "train.target").read_text(encoding="utf-8").splitlines()[-1] == "(PP XX (NP XX )NP )PP"
    assert (text / "valid.source").read_text(encoding="utf-8").splitlines() == [sentence, sentence]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--ids IDS --train doc_0 doc_0", "give --train FIRST LAST and --valid FIRST LAST with it"),
        ("--train doc_0 doc_0", "--train selects trees by id: give the file of ids with --ids"),
        ("", "there are no validation trees: give --valid-trees, or --ids"),
        ("--ids IDS --train doc_5 doc_6 --valid doc_1 doc_1", "there is no training tree"),
        ("--valid-trees TREES", r"no vocabulary of 16000 pieces can be learned from this text: give at most \d+$"),
    ],
)
def test_unusable_options_are_explained(
    files: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str], options: str, message: str
) -> None:
    places = {"TREES": str(files[0]), "IDS": str(files[1])}
    command = ["prepare-trees", str(tmp_path / "data"), "--trees", str(files[0])]
    assert main([*command, *(places.get(word, word) for word in options.split())]) == 1
    assert re.search(message, capsys.readouterr().err)


def test_every_tree_needs_an_id(files: tuple[Path, Path]) -> None:
    files[1].write_text("doc_0\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"has fewer ids than there are trees: .*number 2 has no id"):
        list(Treebank([files[0]], files[1], "a", "z"))


def test_a_file_that_holds_no_trees_is_named(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("The sea.", encoding="utf-8")
    with pytest.raises(DataError, match="text: tree 1 begins with 'The'"):
        prepare_trees(tmp_path / "data", {"train": Treebank([tmp_path / "text"])}, 300)
