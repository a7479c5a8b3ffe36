"""What many tests share: a tokenizer learned from a few sentences, a tiny model, and the two in one file."""

import copy
import os
import sys

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch comes: tests run side by side, and their models are tiny
os.environ.setdefault("HEADLIGHT_DEVICE", "cpu")  # what tests compare to the bit is only the same there

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling

from core.checkpoint import save_checkpoint
from core.config import PRESETS
from core.model import Transformer
from core.parsing.trees import linearise, read_trees
from core.tokenizer import SPACE_MARK, SentencePieceTokenizer

ENGLISH = """\
A dog runs through the green grass.
Two children are playing with a red ball.
The woman in the blue coat is reading a book.
A man stands at the window and looks at the street.
It is raining, so we will stay at home today.
Where is the nearest station?
The train to Berlin leaves at half past seven.
I would like a cup of tea with milk, please.
She said that she had never seen the sea.
The old house on the hill was built 150 years ago.
Do you know how much this costs?
We have been waiting for the bus for twenty minutes.
The animal did not cross the street because it was too tired.
My brother works in a small town near the border.
Yesterday we bought bread, cheese and apples at the market.
The weather will be better tomorrow.
Can you help me with this question?
A group of people is sitting around a table.
The little girl is laughing because the dog is wet.
Nobody knows what will happen next year."""

GERMAN = """\
Ein Hund läuft durch das grüne Gras.
Zwei Kinder spielen mit einem roten Ball.
Die Frau im blauen Mantel liest ein Buch.
Ein Mann steht am Fenster und schaut auf die Straße.
Es regnet, also bleiben wir heute zu Hause.
Wo ist der nächste Bahnhof?
Der Zug nach Berlin fährt um halb acht ab.
Ich hätte gern eine Tasse Tee mit Milch, bitte.
Sie sagte, dass sie das Meer noch nie gesehen habe.
Das alte Haus auf dem Hügel wurde vor 150 Jahren gebaut.
Weißt du, wie viel das kostet?
Wir warten seit zwanzig Minuten auf den Bus.
Das Tier überquerte die Straße nicht, weil es zu müde war.
Mein Bruder arbeitet in einer kleinen Stadt nahe der Grenze.
Gestern haben wir auf dem Markt Brot, Käse und Äpfel gekauft.
Das Wetter wird morgen besser.
Können Sie mir bei dieser Frage helfen?
Eine Gruppe von Menschen sitzt um einen Tisch.
Das kleine Mädchen lacht, weil der Hund nass ist.
Niemand weiß, was nächstes Jahr geschehen wird."""

TREES = """\
(S (NP (DT The) (NN dog)) (VP (VBZ runs)) (. .))
(S (NP (PRP She)) (VP (VBZ sees) (NP (DT a) (NN cat))) (. .))
(S (NP (DT The) (JJ old) (NN man)) (VP (VBZ sleeps) (PP (IN in) (NP (DT the) (NN garden)))) (. .))
(S (NP (DT A) (NN child)) (VP (VBZ reads) (NP (DT the) (NN book))) (. .))
(S (NP (PRP We)) (VP (VBP know) (SBAR (IN that) (S (NP (PRP it)) (VP (VBZ rains))))) (. .))
(S (NP (DT The) (NN sea)) (VP (VBZ is) (ADJP (JJ cold))) (. .))"""


# the longest files first: what comes last is short
FOLDERS = ("tests/e2e/", "tests/train/", "tests/viz_app/", "tests/core/")


class ByFile(LoadFileScheduling):
    """A file's tests stay in one process, and so do all that drive the browser: it and the app's server start once."""

    def _split_scope(self, nodeid: str) -> str:
        return FOLDERS[0] if nodeid.startswith(FOLDERS[0]) else super()._split_scope(nodeid)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> ByFile:
    """Share the tests out so."""
    return ByFile(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes longest."""
    items.sort(
        key=lambda item: next(
            (place for place, folder in enumerate(FOLDERS) if item.nodeid.startswith(folder)), len(FOLDERS)
        )
    )


@pytest.fixture(autouse=True)
def main_module() -> Iterator[None]:
    """Put `__main__` back: Streamlit's AppTest replaces it by a page, which spawned processes would then run first."""
    main = sys.modules["__main__"]
    yield
    sys.modules["__main__"] = main


@pytest.fixture(scope="session")
def parallel_text() -> list[tuple[str, str]]:
    """Pairs of an English sentence and its German translation."""
    return list(zip(ENGLISH.splitlines(), GERMAN.splitlines(), strict=True))


@pytest.fixture(scope="session")
def tokenizer(parallel_text: list[tuple[str, str]]) -> SentencePieceTokenizer:
    """A joint tokenizer of 400 pieces, 256 of which are the bytes that make no text unknown."""
    return SentencePieceTokenizer.train(
        (sentence for pair in parallel_text for sentence in pair), vocab_size=400, num_threads=1
    )


@pytest.fixture(scope="session")
def tiny_model(tokenizer: SentencePieceTokenizer) -> Transformer:
    """The `tiny` preset with that tokenizer's vocabulary, untrained but the same each time, in evaluation mode. Do
    not change it.
    """
    with torch.random.fork_rng():
        torch.manual_seed(1)
        model = Transformer(replace(PRESETS["tiny"], vocab_size=tokenizer.vocab_size))
    return model.eval().requires_grad_(False)


@pytest.fixture(scope="session")
def tiny_checkpoint(
    tmp_path_factory: pytest.TempPathFactory, tiny_model: Transformer, tokenizer: SentencePieceTokenizer
) -> Path:
    """`tiny_model` and `tokenizer` as one file. Do not change it: copy it."""
    path = tmp_path_factory.mktemp("checkpoints") / "tiny.safetensors"
    save_checkpoint(path, tiny_model, tokenizer, {"preset": "tiny", "steps": 0})
    return path


@pytest.fixture(scope="session")
def overflowing_checkpoint(
    tmp_path_factory: pytest.TempPathFactory, tiny_model: Transformer, tokenizer: SentencePieceTokenizer
) -> Path:
    """A whole file whose weights are finite, but not what is computed with them. Do not change it."""
    model = copy.deepcopy(tiny_model)
    model.embedding.tokens.weight[5] = 3e38
    path = tmp_path_factory.mktemp("checkpoints") / "overflowing.safetensors"
    save_checkpoint(path, model, tokenizer)
    return path


@pytest.fixture(scope="session")
def tree_tokenizer() -> SentencePieceTokenizer:
    """A tokenizer with a piece for each bracket of a few trees."""
    trees = list(read_trees(TREES))
    symbols = sorted({SPACE_MARK + symbol for tree in trees for symbol in linearise(tree)})
    return SentencePieceTokenizer.train(
        (" ".join(tree.words()) for tree in trees), vocab_size=320, num_threads=1, symbols=symbols
    )


@pytest.fixture(scope="session")
def tree_checkpoint(tmp_path_factory: pytest.TempPathFactory, tree_tokenizer: SentencePieceTokenizer) -> Path:
    """An untrained `tiny` model that writes trees, as one file. Do not change it: copy it.

    It is made to rather write words and close brackets than open more, so that its trees are small.
    """
    with torch.random.fork_rng(), torch.no_grad():
        torch.manual_seed(1)
        model = Transformer(replace(PRESETS["tiny"], vocab_size=tree_tokenizer.vocab_size))
        pieces = [tree_tokenizer.piece(token_id) for token_id in range(tree_tokenizer.vocab_size)]
        liked = [
            token_id
            for token_id, piece in enumerate(pieces)
            if piece == f"{SPACE_MARK}XX" or piece.startswith(f"{SPACE_MARK})")
        ]
        model.embedding.tokens.weight[liked] += 0.5
        model.decoder.layers[-1].feed_forward_norm.bias += 0.5
    path = tmp_path_factory.mktemp("trees") / "tiny-trees.safetensors"
    save_checkpoint(path, model, tree_tokenizer, {"preset": "tiny", "steps": 0})
    return path
