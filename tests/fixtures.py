"""Fixtures for all tests: a tokenizer learned from a few sentences, a tiny model, and a checkpoint of both."""

import copy
import multiprocessing
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from multiprocessing import forkserver
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import Any

import pytest
import refused_connections
import torch

from core.analysis.over_training.history import pack_history
from core.files.runlog import format_log
from core.formats.checkpoint import load_checkpoint, save_checkpoint
from core.formats.importing import import_checkpoint
from core.images.line_reader import LineReader
from core.images.rendering import CHARACTERS
from core.model import MultiHeadAttention, Transformer
from core.model.preset_configs import PRESETS
from core.parsing.trees import linearise, read_trees
from core.text.tokenizer import SPACE_MARK, SentencePieceTokenizer
from core.translator import Translator

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


@pytest.fixture(autouse=True)
def main_module() -> Iterator[None]:
    """Restore `__main__`, which AppTest replaces by a page: spawned processes would import that page first."""
    main = sys.modules["__main__"]
    yield
    sys.modules["__main__"] = main


@pytest.fixture(scope="session", autouse=True)
def no_flush() -> Iterator[None]:
    """Do not wait for the disk: a killed process loses nothing that it has handed to the operating system."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: None)
        yield


@pytest.fixture(scope="session", autouse=True)
def short_measurements() -> Iterator[None]:
    """Call each product three times: which one is fastest matters to no test, and each must give the same."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("core.inference.cpu_products.MEASURED_SECONDS", 0)
        yield


@pytest.fixture(scope="session")
def connections_report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file that lists refused connections, of this process and of those that it starts."""
    path = tmp_path_factory.mktemp("connections") / "refused.txt"
    path.touch()
    os.environ[refused_connections.REPORT] = str(path)
    return path


@pytest.fixture(autouse=True)
def no_outside_connection(connections_report: Path) -> Iterator[None]:
    """Fail a test during which this process, the app or a command tries to reach another machine."""
    yield
    fail_if_refused(connections_report)


def fail_if_refused(report: Path) -> None:
    """Fail with the lines of a report of refused connections, if there are any, and empty it."""
    if lines := report.read_text(encoding="utf-8"):
        report.write_text("", encoding="utf-8")
        pytest.fail(f"connections to other machines:\n{lines}")


@pytest.fixture(scope="session")
def processes() -> ForkServerContext:
    """Start processes without importing PyTorch in each: they are forked from a server that has imported it, what it
    imports late, and pytest, which a process imports with the function that it runs.
    """
    context = multiprocessing.get_context("forkserver")
    late = ["torch.distributed.launcher.api", "torch._dynamo", "pytest"]
    context.set_forkserver_preload(["core.cli.commands", "train.__main__", *late])
    forkserver.ensure_running()  # now, so that it inherits no blocked signals
    return context


@pytest.fixture(scope="session")
def parallel_text() -> list[tuple[str, str]]:
    """English sentences with their German translations."""
    return list(zip(ENGLISH.splitlines(), GERMAN.splitlines(), strict=True))


@pytest.fixture(scope="session")
def tokenizer(parallel_text: list[tuple[str, str]]) -> SentencePieceTokenizer:
    """A joint tokenizer of 400 pieces; 256 of them are bytes, so that no text is unknown."""
    return SentencePieceTokenizer.train(
        (sentence for pair in parallel_text for sentence in pair), vocab_size=400, num_threads=1
    )


@pytest.fixture(scope="session")
def tiny_model(tokenizer: SentencePieceTokenizer) -> Transformer:
    """An untrained `tiny` model with this vocabulary, from a fixed seed, in evaluation mode. Do not modify it.

    It ends its sentences after ten to twenty tokens, where other untrained models repeat a token up to the limit.
    """
    with torch.random.fork_rng():
        torch.manual_seed(1)
        model = Transformer(replace(PRESETS["tiny"], vocab_size=tokenizer.vocab_size)).eval().requires_grad_(False)
        fit_end(model)
    return model


def fit_end(model: Transformer, start: int = 8, logit: float = 9.5) -> None:
    """Give `</s>` the embedding whose logit is nearest to `logit` from the position `start` on, and to -2 before.

    By least squares over states of the decoder for random tokens, half of them repeated.
    """
    config = model.config
    source, target = torch.randint(4, config.vocab_size, (2, 256, 3 * start))
    if config.patch_size:
        source = torch.rand(256, 3 * start, config.patch_size**2)
    target[::2, 2:] = target[::2, 1:2]
    target[:, 0] = config.bos_id
    states = model.decode(target, model.encode(source), model.source_mask(source))  # [256, 3 * start, D]
    wanted = torch.full(states.shape[:2], -2.0)
    wanted[:, start:] = logit
    solution = torch.linalg.lstsq(states.flatten(0, 1), wanted.flatten()[:, None]).solution
    model.embedding.tokens.weight[config.eos_id] = solution[:, 0]


@pytest.fixture(scope="session")
def tiny_checkpoint(
    tmp_path_factory: pytest.TempPathFactory, tiny_model: Transformer, tokenizer: SentencePieceTokenizer
) -> Path:
    """A checkpoint of `tiny_model` and `tokenizer`. Do not modify it: copy it."""
    path = tmp_path_factory.mktemp("checkpoints") / "tiny.safetensors"
    save_checkpoint(path, tiny_model, tokenizer, {"preset": "tiny", "steps": 0})
    return path


@pytest.fixture(scope="module")
def translator(tiny_checkpoint: Path) -> Translator:
    """A translator of the tiny model. Do not modify it."""
    return Translator.from_checkpoint(tiny_checkpoint)


@pytest.fixture(scope="session", params=["own", "marian", "t5"])
def checkpoint_of_any_kind(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    tiny_checkpoint: Path,
    parallel_text: list[tuple[str, str]],
) -> Path:
    """An untrained model, own or imported, whose translations depend on attention. Do not modify it: copy it."""
    from tests.core.formats import marian_models, t5_models

    folder = tmp_path_factory.mktemp(request.param) / "model"
    if request.param == "own":
        found = load_checkpoint(tiny_checkpoint)
    else:
        (marian_models if request.param == "marian" else t5_models).write_model(folder, parallel_text)
        found = import_checkpoint(folder)
    for module in found.model.modules():
        if isinstance(module, MultiHeadAttention) and request.param != "t5":  # whose attention is large as it is
            module.q_proj.weight.data *= 4
            module.out_proj.weight.data *= 4
    save_checkpoint(folder.with_suffix(".safetensors"), found.model, found.tokenizer)
    return folder.with_suffix(".safetensors")


SaveModel = Callable[..., Path]


@pytest.fixture(scope="session")
def saved_model(tmp_path_factory: pytest.TempPathFactory, tokenizer: SentencePieceTokenizer) -> SaveModel:
    """`saved_model(name, seed, **shape)`: a checkpoint of an untrained model, as the tiny one but for its shape."""

    def save(name: str, seed: int, **shape: Any) -> Path:
        path = tmp_path_factory.mktemp("checkpoints") / f"{name}.safetensors"
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            model = Transformer(replace(PRESETS["tiny"], vocab_size=tokenizer.vocab_size, **shape))
            save_checkpoint(path, model, tokenizer)
        return path

    return save


@pytest.fixture(scope="session")
def other_checkpoint(saved_model: SaveModel) -> Path:
    """A model of another shape: one layer, two heads. Do not modify it: copy it."""
    return saved_model("other", 2, num_heads=2, num_encoder_layers=1, num_decoder_layers=1)


@pytest.fixture(scope="session")
def mask_predict_checkpoint(
    tmp_path_factory: pytest.TempPathFactory, tiny_model: Transformer, tokenizer: SentencePieceTokenizer
) -> Path:
    """A checkpoint of an untrained `tiny` model without causal mask. Do not modify it: copy it."""
    path = tmp_path_factory.mktemp("checkpoints") / "tiny-mask-predict.safetensors"
    with torch.random.fork_rng():
        torch.manual_seed(1)
        model = Transformer(replace(tiny_model.config, mask_id=3)).requires_grad_(False)
    save_checkpoint(path, model, tokenizer, {"preset": "tiny", "steps": 0})
    return path


@pytest.fixture(scope="session")
def overflowing_checkpoint(
    tmp_path_factory: pytest.TempPathFactory, tiny_model: Transformer, tokenizer: SentencePieceTokenizer
) -> Path:
    """A checkpoint of finite weights whose activations overflow. Do not modify it."""
    model = copy.deepcopy(tiny_model)
    model.embedding.tokens.weight[5] = 3e38
    path = tmp_path_factory.mktemp("checkpoints") / "overflowing.safetensors"
    save_checkpoint(path, model, tokenizer)
    return path


@pytest.fixture(scope="session")
def tree_tokenizer() -> SentencePieceTokenizer:
    """A tokenizer with one piece for every bracket symbol of `TREES`."""
    trees = list(read_trees(TREES))
    symbols = sorted({SPACE_MARK + symbol for tree in trees for symbol in linearise(tree)})
    return SentencePieceTokenizer.train(
        (" ".join(tree.words()) for tree in trees), vocab_size=320, num_threads=1, symbols=symbols
    )


@pytest.fixture(scope="session")
def tree_checkpoint(tmp_path_factory: pytest.TempPathFactory, tree_tokenizer: SentencePieceTokenizer) -> Path:
    """A checkpoint of an untrained `tiny` model that writes trees. Do not modify it: copy it.

    Its weights favour words and closing brackets over opening ones, which keeps the trees small.
    """
    with torch.random.fork_rng(), torch.no_grad():
        torch.manual_seed(1)
        model = Transformer(replace(PRESETS["tiny"], vocab_size=tree_tokenizer.vocab_size))
        pieces = [tree_tokenizer.piece(token_id) for token_id in range(tree_tokenizer.vocab_size)]
        favoured = [
            token_id
            for token_id, piece in enumerate(pieces)
            if piece == f"{SPACE_MARK}XX" or piece.startswith(f"{SPACE_MARK})")
        ]
        model.embedding.tokens.weight[favoured] += 0.5
        model.decoder.layers[-1].feed_forward_norm.bias += 0.5
    path = tmp_path_factory.mktemp("trees") / "tiny-trees.safetensors"
    save_checkpoint(path, model, tree_tokenizer, {"preset": "tiny", "steps": 0})
    return path


@pytest.fixture(scope="session")
def line_reader() -> LineReader:
    """A reader with an untrained `tiny` model for lines of 24 pixels. Do not modify it.

    It ends its lines as `tiny_model` ends its sentences.
    """
    tokenizer = SentencePieceTokenizer.of_characters(CHARACTERS)
    config = replace(PRESETS["tiny"], vocab_size=tokenizer.vocab_size, patch_size=8, patch_rows=3)
    with torch.random.fork_rng():
        torch.manual_seed(1)
        model = Transformer(config).eval().requires_grad_(False)
        fit_end(model)
    return LineReader(Translator(model, tokenizer))


@pytest.fixture(scope="session")
def line_checkpoint(tmp_path_factory: pytest.TempPathFactory, line_reader: LineReader) -> Path:
    """A checkpoint of the untrained model of `line_reader`. Do not modify it: copy it."""
    path = tmp_path_factory.mktemp("lines") / "tiny-lines.safetensors"
    save_checkpoint(path, line_reader.translator.model, line_reader.translator.tokenizer, {"steps": 0})
    return path


@pytest.fixture(scope="session")
def run_history(
    tmp_path_factory: pytest.TempPathFactory, tiny_model: Transformer, tokenizer: SentencePieceTokenizer
) -> Path:
    """The folder of a run with three snapshots, and its log. Do not modify it: copy it.

    Step 0 is a random initialisation, step 300 is `tiny_model`, and step 100 the mean of the two.
    """
    folder = tmp_path_factory.mktemp("runs") / "tiny-run"
    (folder / "history").mkdir(parents=True)
    with torch.random.fork_rng():
        torch.manual_seed(2)
        first = Transformer(tiny_model.config).requires_grad_(False)
    for step, share in ((0, 0.0), (100, 0.5), (300, 1.0)):
        model = copy.deepcopy(first)
        for name, parameter in model.named_parameters():
            parameter.lerp_(tiny_model.get_parameter(name), share)
        path = folder / "history" / f"step-{step:08d}.safetensors"
        save_checkpoint(path, model, tokenizer, {"preset": "tiny", "steps": step}, torch.float16)
    lines = [
        {"kind": kind, "step": step, "nll": nll} for step, nll in ((25, 6.0), (300, 3.5)) for kind in ("train", "valid")
    ]
    (folder / "log.jsonl").write_text(format_log(lines), encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def history_file(tmp_path_factory: pytest.TempPathFactory, run_history: Path) -> Path:
    """The snapshots of `run_history` packed into one file. Do not modify it: copy it."""
    path = tmp_path_factory.mktemp("histories") / "tiny.history.zip"
    pack_history(run_history, path)
    return path
