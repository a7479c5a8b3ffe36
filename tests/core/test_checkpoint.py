"""One file in, one file out: nothing is lost on the way, and no bad file gets past the door."""

import copy
import json
import os
import pickle
import random
import stat
import subprocess
import sys
import zipfile
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from core import checkpoint
from core.checkpoint import MAX_HEADER_BYTES, MAX_LAYERS, TOKENIZER_KEY, CheckpointError, load_checkpoint, save_checkpoint, write_whole
from core.config import PRESETS, TransformerConfig
from core.model import Transformer
from core.tokenizer import SentencePieceTokenizer

Tensors = dict[str, Tensor]
Metadata = dict[str, str]
ROOT = Path(checkpoint.__file__).parent.parent
EMBEDDING = "embedding.tokens.weight"


def contents(path: Path) -> tuple[Tensors, Metadata]:
    with safe_open(path, framework="pt") as file:
        return {name: file.get_tensor(name).clone() for name in file.keys()}, file.metadata()  # noqa: SIM118


@pytest.fixture
def remake(tiny_checkpoint: Path, tmp_path: Path) -> Callable[[Callable[[Tensors, Metadata], None]], Path]:
    """The good checkpoint with something changed in it."""

    def make(change: Callable[[Tensors, Metadata], None]) -> Path:
        tensors, metadata = contents(tiny_checkpoint)
        change(tensors, metadata)
        path = tmp_path / "changed.safetensors"
        save_file(tensors, path, metadata)
        return path

    return make


def reconfigure(**changes: Any) -> Callable[[Tensors, Metadata], None]:
    def change(_: Tensors, metadata: Metadata) -> None:
        metadata["config"] = json.dumps({**json.loads(metadata["config"]), **changes})

    return change


def drop(items: dict[str, Any], name: str) -> None:
    del items[name]


def header_and_data(path: Path) -> tuple[dict[str, Any], bytes]:
    whole = path.read_bytes()
    end = 8 + int.from_bytes(whole[:8], "little")
    return json.loads(whole[8:end]), whole[end:]


def write_raw(path: Path, header: dict[str, Any] | bytes, data: bytes) -> Path:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)
    return path


# --- There and back ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("changes", [{}, {"positions": "learned", "max_positions": 16}, {"d_k": 5, "d_v": 7}, {"num_decoder_layers": 1}])
def test_everything_comes_back(changes: dict[str, Any], tokenizer: SentencePieceTokenizer, tmp_path: Path) -> None:
    model = Transformer(replace(PRESETS["tiny"], vocab_size=400, **changes))
    facts = {"preset": "tiny", "scores": {"BLEU": 1.5}, "data": ["Prüfsätze"], "note": "half a pair \udcff"}
    path = tmp_path / "model.safetensors"
    save_checkpoint(path, model, tokenizer, facts)
    loaded = load_checkpoint(path)
    assert loaded.config == loaded.model.config == model.config
    assert loaded.training == facts
    assert loaded.tokenizer.to_bytes() == tokenizer.to_bytes()
    expected = dict(model.named_parameters())
    found = dict(loaded.model.named_parameters())
    assert found.keys() == expected.keys()
    assert all(torch.equal(found[name], expected[name]) for name in expected)
    assert not loaded.model.training
    assert not any(parameter.requires_grad for parameter in found.values())
    source, target = torch.tensor([[5, 6, 7]]), torch.tensor([[1, 8]])
    with torch.no_grad():
        assert torch.equal(loaded.model(source, target), model.eval()(source, target))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision(dtype: torch.dtype, tiny_model: Transformer, tokenizer: SentencePieceTokenizer, tmp_path: Path) -> None:
    path = tmp_path / "half.safetensors"
    save_checkpoint(path, tiny_model, tokenizer, dtype=dtype)
    assert {tensor.dtype for name, tensor in contents(path)[0].items() if name != TOKENIZER_KEY} == {dtype}
    for name, parameter in load_checkpoint(path).model.named_parameters():
        assert torch.equal(parameter, tiny_model.get_parameter(name).to(dtype).float())


def test_the_file_holds_parameters_once_and_explains_itself(tiny_checkpoint: Path, tiny_model: Transformer) -> None:
    tensors, metadata = contents(tiny_checkpoint)
    assert tensors.keys() == {name for name, _ in tiny_model.named_parameters()} | {TOKENIZER_KEY}
    assert metadata["format_version"] == "1"
    assert json.loads(metadata["config"]) == asdict(tiny_model.config)
    assert json.loads(metadata["training"]) == {"preset": "tiny", "steps": 0}


def test_a_loaded_model_does_not_depend_on_its_file(tiny_checkpoint: Path, tiny_model: Transformer, tmp_path: Path) -> None:
    path = tmp_path / "overwritten.safetensors"
    path.write_bytes(tiny_checkpoint.read_bytes())
    model = load_checkpoint(path).model
    with path.open("r+b") as file:
        file.write(b"\xff" * path.stat().st_size)
        file.truncate(10)
    assert all(torch.equal(parameter, tiny_model.get_parameter(name)) for name, parameter in model.named_parameters())


def test_loading_is_quick_to_start(tiny_checkpoint: Path) -> None:
    """PyTorch's compiler, which some operations on `meta` import, would cost the app's first screen a second or more."""
    code = f"import sys; from core import load_checkpoint; load_checkpoint({str(tiny_checkpoint)!r}); print('sympy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout == "False\n"


def test_loading_draws_no_random_numbers(tiny_checkpoint: Path) -> None:
    before = torch.get_rng_state()
    load_checkpoint(tiny_checkpoint)
    assert torch.equal(torch.get_rng_state(), before)


def test_every_length_of_header_is_read(
    tiny_model: Transformer, tokenizer: SentencePieceTokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first bytes of a file are the header's length: 0x80 begins a pickle, and "PK" a zip, but not here."""
    monkeypatch.setattr(os, "fsync", lambda _: None)  # which takes longest
    path, starts = tmp_path / "model.safetensors", set[bytes]()
    save_checkpoint(path, tiny_model, tokenizer, {"": ""})
    zip_like = int.from_bytes(b"PK", "little") - int.from_bytes(path.read_bytes()[:8], "little")
    for length in [*range(0, 256, 8), zip_like]:
        save_checkpoint(path, tiny_model, tokenizer, {"": "x" * length})
        starts.add(path.read_bytes()[:2])
        assert len(load_checkpoint(path).training[""]) == length
    assert b"PK" in starts
    assert 0x80 in {start[0] for start in starts}


def test_what_is_not_saved(tiny_model: Transformer, tokenizer: SentencePieceTokenizer, tiny_checkpoint: Path, tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    path.write_bytes(tiny_checkpoint.read_bytes())
    other = Transformer(replace(PRESETS["tiny"], vocab_size=401))
    with pytest.raises(ValueError, match=r"^the tokenizer has 400 tokens but the model's vocab_size is 401$"):
        save_checkpoint(path, other, tokenizer)
    with pytest.raises(ValueError, match=r"^parameters are stored as one of torch\.float32, .*, not as torch\.int8$"):
        save_checkpoint(path, tiny_model, tokenizer, dtype=torch.int8)
    diverged = copy.deepcopy(tiny_model)
    diverged.embedding.tokens.weight[3, 4] = float("nan")
    with pytest.raises(ValueError, match=r"^embedding\.tokens\.weight is not finite in torch\.float32, so nothing was saved"):
        save_checkpoint(path, diverged, tokenizer)
    diverged.embedding.tokens.weight[3, 4] = 70_000.0
    with pytest.raises(ValueError, match=r"^embedding\.tokens\.weight is not finite in torch\.float16, so nothing was saved"):
        save_checkpoint(path, diverged, tokenizer, dtype=torch.float16)
    with pytest.raises(TypeError, match="not JSON serializable"):
        save_checkpoint(path, tiny_model, tokenizer, {"data": Path("data")})
    assert path.read_bytes() == tiny_checkpoint.read_bytes()
    assert list(tmp_path.iterdir()) == [path]


# --- Saving survives what may happen -------------------------------------------------------------------------------


@pytest.mark.parametrize("failing", ["save_file", "fsync", "replace"])
def test_a_failure_leaves_the_old_file(
    failing: str, tiny_model: Transformer, tokenizer: SentencePieceTokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "model.safetensors"
    save_checkpoint(path, tiny_model, tokenizer, {"save": "old"})
    old = path.read_bytes()

    def save_half(tensors: Tensors, temporary: Path, _: Metadata) -> None:
        temporary.write_bytes(b"half a file")
        raise SafetensorError("No space left on device")

    def fail(*_: object) -> None:
        raise OSError("No space left on device")

    if failing == "save_file":
        monkeypatch.setattr(checkpoint, "save_file", save_half)
    else:
        monkeypatch.setattr(os, failing, fail)
    with pytest.raises(OSError, match="No space left on device"):
        save_checkpoint(path, tiny_model, tokenizer, {"save": "new"})
    assert path.read_bytes() == old
    assert list(tmp_path.iterdir()) == [path], "no temporary file is left"


KILLED = """
import os, signal, sys, time
from pathlib import Path
from core.checkpoint import load_checkpoint, save_checkpoint

path = Path(sys.argv[1])
loaded = load_checkpoint(path)
for delay in range(8):
    saved, told = os.pipe()
    child = os.fork()
    if child == 0:
        for number in range(10**6):
            save_checkpoint(path, loaded.model, loaded.tokenizer, {"child": delay, "number": number})
            os.write(told, b".")
    os.read(saved, 1)
    time.sleep(delay * 0.0013)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    print(load_checkpoint(path).training["child"])
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs to fork")
def test_a_killed_process_leaves_a_whole_file(tiny_checkpoint: Path, tmp_path: Path) -> None:
    """A child saves over and over, and is killed a different moment after its first save, eight times."""
    path = tmp_path / "model.safetensors"
    path.write_bytes(tiny_checkpoint.read_bytes())
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, "-c", KILLED, str(path)], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120)
    assert done.stdout.split() == list("01234567"), done.stderr


@pytest.mark.parametrize(("mask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_who_may_read_it_is_the_users_choice(
    mask: int, mode: int, tiny_model: Transformer, tokenizer: SentencePieceTokenizer, tmp_path: Path
) -> None:
    before = os.umask(mask)
    try:
        save_checkpoint(tmp_path / "model.safetensors", tiny_model, tokenizer)
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "model.safetensors").stat().st_mode) == mode


def test_a_folder_that_is_not_there(tiny_model: Transformer, tokenizer: SentencePieceTokenizer, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="missing"):
        save_checkpoint(tmp_path / "missing" / "model.safetensors", tiny_model, tokenizer)


def test_the_file_and_its_folder_are_flushed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The content before the new name, the name before the return; a file system that cannot flush a folder is no reason to fail."""
    events: list[str] = []
    replace_file = os.replace

    def fsync(descriptor: int) -> None:
        is_folder = stat.S_ISDIR(os.fstat(descriptor).st_mode)
        events.append("flush folder" if is_folder else "flush file")
        if is_folder:
            raise OSError("Invalid argument")

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "replace", lambda *names: (events.append("rename"), replace_file(*names)))
    write_whole(tmp_path / "file", lambda temporary: temporary.write_text("content"))
    assert events == ["flush file", "rename", "flush folder"]
    assert (tmp_path / "file").read_text() == "content"


# --- Files that are something else ---------------------------------------------------------------------------------


class Malicious:
    """What it unpickles to is a file on the disk."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return (open, (str(self.path), "w"))


@pytest.mark.parametrize("form", ["torch zip", "torch legacy", "pickle 2", "pickle 5"])
def test_a_pickle_is_refused_and_not_run(form: str, tmp_path: Path) -> None:
    path, proof = tmp_path / "model.safetensors", tmp_path / "it ran"
    if form.startswith("torch"):
        torch.save({"model": Malicious(proof)}, path, _use_new_zipfile_serialization=form == "torch zip")
    else:
        path.write_bytes(pickle.dumps({"model": Malicious(proof)}, protocol=int(form[-1])))
    with pytest.raises(CheckpointError, match=r"^model\.safetensors is a PyTorch pickle, which can run code .* opens only \.safetensors"):
        load_checkpoint(path)
    assert not proof.exists()
    with path.open("rb") as file:
        torch.load(file, weights_only=False) if form.startswith("torch") else pickle.load(file)
    assert proof.exists(), "had it been unpickled, the proof would be there"


def test_a_zip_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("model", "x" * 100)
    with pytest.raises(CheckpointError, match=r"^model\.zip is a PyTorch pickle"):
        load_checkpoint(path)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"x",
        b"12345678",
        b"12345678[",
        b"<!doctype html><html></html>",
        b"\x89PNG\r\n\x1a\n" + b"\0" * 99,
        bytes(1000),
        random.Random(0).randbytes(9999),
    ],
)
def test_other_files_are_refused(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    path.write_bytes(data)
    with pytest.raises(CheckpointError, match=rf"^model\.safetensors \({len(data)} bytes\) is not a safetensors file: expected a JSON header"):
        load_checkpoint(path)


def test_a_file_cut_off_anywhere_is_refused(tiny_checkpoint: Path, tmp_path: Path) -> None:
    whole = tiny_checkpoint.read_bytes()
    header = 8 + int.from_bytes(whole[:8], "little")
    path = tmp_path / "cut.safetensors"
    lengths = [*range(12), 100, header - 1, header, header + 1, *range(header, len(whole), len(whole) // 20), len(whole) - 1]
    for length in lengths:
        path.write_bytes(whole[:length])
        with pytest.raises(CheckpointError, match=r"^cut\.safetensors (is truncated|is damaged|\(\d+ bytes\) is not a safetensors file)"):
            load_checkpoint(path)
    path.write_bytes(whole[:100])
    with pytest.raises(CheckpointError, match=rf"^cut\.safetensors is truncated: its header should have {header - 8} bytes, the whole file has 100$"):
        load_checkpoint(path)


def test_surplus_bytes_are_refused(tiny_checkpoint: Path, tmp_path: Path) -> None:
    path = tmp_path / "long.safetensors"
    path.write_bytes(tiny_checkpoint.read_bytes() + b"\0" * 8)
    with pytest.raises(CheckpointError, match=r"^long\.safetensors is damaged or not a safetensors file"):
        load_checkpoint(path)


def test_a_missing_file_and_a_folder(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        load_checkpoint(tmp_path / "nowhere.safetensors")
    with pytest.raises(CheckpointError, match=r"is not a file: give the \.safetensors file itself$"):
        load_checkpoint(tmp_path)


# --- Headers that lie ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [MAX_HEADER_BYTES + 1, 2**40, 2**64 - 1])
def test_a_huge_header_is_not_read(length: int, tmp_path: Path) -> None:
    path = tmp_path / "huge.safetensors"
    path.write_bytes(length.to_bytes(8, "little") + b"{" * 100)
    with pytest.raises(CheckpointError, match=rf"^huge\.safetensors declares a header of {length} bytes; at most {MAX_HEADER_BYTES} are read$"):
        load_checkpoint(path)


@pytest.mark.parametrize("header", [b"{", b"{}}", b'{"a": \xff\xfe}', b"{" * 5000, b'{"a": 1}', b'{"a": NaN}', b'{"a": {"dtype": "F32"}}'])
def test_a_header_that_is_no_header(header: bytes, tmp_path: Path) -> None:
    path = write_raw(tmp_path / "bad.safetensors", header, b"\0" * 16)
    with pytest.raises(CheckpointError, match=r"^bad\.safetensors is damaged or not a safetensors file"):
        load_checkpoint(path)


def overlap(header: dict[str, Any]) -> None:
    first, second = (name for name in header if name.endswith("self_attention.q_proj.weight") and name.startswith("encoder"))
    header[second]["data_offsets"] = header[first]["data_offsets"]


def out_of_file(header: dict[str, Any]) -> None:
    header[EMBEDDING]["data_offsets"] = [2**40, 2**40 + 400 * 32 * 4]


def shape_of_another_size(header: dict[str, Any]) -> None:
    header[EMBEDDING]["shape"] = [400, 33]


def shape_beyond_all_integers(header: dict[str, Any]) -> None:
    header[EMBEDDING]["shape"] = [2**62, 2**62]


def negative_offset(header: dict[str, Any]) -> None:
    header[EMBEDDING]["data_offsets"] = [-400 * 32 * 4, 0]


def backward_offsets(header: dict[str, Any]) -> None:
    header[EMBEDDING]["data_offsets"].reverse()


def unknown_dtype(header: dict[str, Any]) -> None:
    header[EMBEDDING]["dtype"] = "F33"


def metadata_that_is_no_text(header: dict[str, Any]) -> None:
    header["__metadata__"]["format_version"] = 1


def gap(header: dict[str, Any]) -> None:
    del header[EMBEDDING]


@pytest.mark.parametrize(
    "change",
    [
        overlap,
        out_of_file,
        shape_of_another_size,
        shape_beyond_all_integers,
        negative_offset,
        backward_offsets,
        unknown_dtype,
        metadata_that_is_no_text,
        gap,
    ],
)
def test_a_header_that_lies_about_the_data(change: Callable[[dict[str, Any]], None], tiny_checkpoint: Path, tmp_path: Path) -> None:
    header, data = header_and_data(tiny_checkpoint)
    change(header)
    path = write_raw(tmp_path / "lying.safetensors", header, data)
    with pytest.raises(CheckpointError, match=r"^lying\.safetensors is damaged or not a safetensors file"):
        load_checkpoint(path)


def test_damage_anywhere_is_refused_or_harmless(tiny_checkpoint: Path, tiny_model: Transformer, tmp_path: Path) -> None:
    """Bytes changed at random: a checkpoint comes out, or a CheckpointError; nothing else."""
    whole = tiny_checkpoint.read_bytes()
    header = 8 + int.from_bytes(whole[:8], "little")
    path, generator, refused = tmp_path / "damaged.safetensors", random.Random(0), 0
    for _ in range(100):
        damaged = bytearray(whole)
        for _ in range(generator.choice((1, 1, 3, 30))):
            damaged[generator.randrange(header if generator.random() < 0.7 else len(whole))] = generator.randrange(256)
        path.write_bytes(damaged)
        try:
            assert load_checkpoint(path).config.vocab_size == 400
        except CheckpointError:
            refused += 1
    assert refused > 30


# --- Metadata and tensors that do not fit --------------------------------------------------------------------------

Remake = Callable[[Callable[[Tensors, Metadata], None]], Path]


def assert_refused(path: Path, message: str) -> None:
    with pytest.raises(CheckpointError, match=message):
        load_checkpoint(path)


def test_a_safetensors_file_of_somebody_else(tmp_path: Path) -> None:
    path = tmp_path / "other.safetensors"
    save_file({"weight": torch.zeros(3)}, path)
    assert_refused(path, r"^other\.safetensors is a safetensors file but not a Headlight checkpoint: its metadata has no format_version$")


@pytest.mark.parametrize("version", ["2", "0", "1.0", "", "x" * 10_000])
def test_other_versions(version: str, remake: Remake) -> None:
    path = remake(lambda _, metadata: metadata.update(format_version=version))
    assert_refused(path, rf"^changed\.safetensors has format_version '{version[:100]}")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", r"config in its metadata is not JSON"),
        ("", r"config in its metadata is not JSON"),
        ("[" * 100_000, r"config in its metadata is not JSON"),
        ("1" * 5_000, r"config in its metadata is not JSON"),
        ("[1]", r"config in its metadata is a list, expected a JSON object$"),
        ("null", r"config in its metadata is a NoneType, expected a JSON object$"),
        ("{}", r"its config cannot be used: .*missing 1 required .* 'vocab_size'"),
    ],
)
def test_a_config_that_is_no_config(text: str, message: str, remake: Remake) -> None:
    assert_refused(remake(lambda _, metadata: metadata.update(config=text)), rf"^changed\.safetensors: {message}")


def test_no_config(remake: Remake) -> None:
    assert_refused(remake(lambda _, metadata: drop(metadata, "config")), r"^changed\.safetensors: its metadata has no config$")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"vocab_size": 400.0}, r"its config cannot be used: vocab_size \(400\.0\) must be a positive integer$"),
        ({"vocab_size": True}, r"its config cannot be used: vocab_size \(True\) must be a positive integer$"),
        ({"vocab_size": float("nan")}, r"its config cannot be used: vocab_size \(nan\) must be a positive integer$"),
        ({"vocab_size": None}, r"its config cannot be used: vocab_size \(None\) must be a positive integer$"),
        ({"dropout": float("nan")}, r"its config cannot be used: dropout \(nan\) must be a number"),
        ({"positions": "x" * 10_000}, r"its config cannot be used: positions \('x+ \.\.\.$"),
        ({"rope": 1, "alibi": 2}, r"its config names 'alibi', 'rope', which this Headlight does not know: a newer one may read it$"),
        ({"num_encoder_layers": 10**9}, rf"its config says 1000000000 \+ 2 layers; at most {MAX_LAYERS} on either side are read$"),
        ({"num_decoder_layers": MAX_LAYERS + 1}, rf"its config says 2 \+ {MAX_LAYERS + 1} layers; at most"),
        ({"vocab_size": 10**12}, rf"^changed\.safetensors: {EMBEDDING} has shape \[400, 32\], expected \[1000000000000, 32\] from the config$"),
        ({"vocab_size": 10**18}, r"no model is as large as its config says: Storage size calculation overflowed"),
        ({"d_ff": 10**30}, r"no model is as large as its config says: "),
        ({"d_model": 4 * 10**300}, r"no model is as large as its config says: "),
        ({"d_model": 4 * 10**400}, r"no model is as large as its config says: "),
        ({"max_positions": 10**12, "positions": "learned"}, r"lacks 1 tensors that its config calls for: 'embedding\.positions\.table\.weight'$"),
    ],
)
def test_a_config_that_does_not_hold(changes: dict[str, Any], message: str, remake: Remake) -> None:
    assert_refused(remake(reconfigure(**changes)), message)


@pytest.mark.parametrize(("text", "message"), [("{", "is not JSON"), ("[]", "is a list, expected a JSON object")])
def test_training_facts_that_are_none(text: str, message: str, remake: Remake) -> None:
    path = remake(lambda _, metadata: metadata.update(training=text))
    assert_refused(path, rf"^changed\.safetensors: training in its metadata {message}")


def test_training_facts_are_optional(remake: Remake) -> None:
    assert load_checkpoint(remake(lambda _, metadata: drop(metadata, "training"))).training == {}


def test_missing_and_surplus_tensors(remake: Remake) -> None:
    lost = "decoder.layers.1.cross_attention.v_proj.bias"
    assert_refused(remake(lambda tensors, _: drop(tensors, lost)), rf"lacks 1 tensors that its config calls for: '{lost}'$")
    assert_refused(remake(lambda tensors, _: drop(tensors, TOKENIZER_KEY)), rf"lacks 1 tensors .*: '{TOKENIZER_KEY}'$")
    assert_refused(remake(lambda tensors, _: tensors.update(extra=torch.zeros(1))), r"holds 1 tensors that its config has no place for: 'extra'$")
    assert_refused(remake(reconfigure(num_encoder_layers=3)), r"lacks 16 tensors that its config calls for: 'encoder\.layers\.2\..*, \.\.\.$")
    assert_refused(remake(reconfigure(num_encoder_layers=1)), r"holds 16 tensors that its config has no place for: 'encoder\.layers\.1\..*, \.\.\.$")


def test_names_are_shown_harmlessly(remake: Remake) -> None:
    """A name from the file can neither fill the screen nor reach the terminal as an escape sequence."""
    path = remake(lambda tensors, _: tensors.update({"\x1b[31m" + "x" * 10_000: torch.zeros(1)}))
    with pytest.raises(CheckpointError) as caught:
        load_checkpoint(path)
    assert "'\\x1b[31mxxx" in str(caught.value)
    assert len(str(caught.value)) < 200


def test_shapes_types_and_values(remake: Remake) -> None:
    norm = "encoder.layers.0.self_attention_norm.weight"
    assert_refused(remake(lambda tensors, _: tensors.update({norm: torch.ones(31)})), rf"{norm} has shape \[31\], expected \[32\] from the config$")
    assert_refused(remake(lambda tensors, _: tensors.update({norm: torch.ones(32, 1)})), rf"{norm} has shape \[32, 1\], expected \[32\]")
    assert_refused(
        remake(lambda tensors, _: tensors.update({norm: torch.ones(32).double()})), rf"{norm} has type F64, expected one of F32, F16, BF16$"
    )
    assert_refused(remake(lambda tensors, _: tensors.update({norm: torch.ones(32).int()})), rf"{norm} has type I32, expected one of")
    for bad in ("nan", "inf", "-inf"):
        values = torch.ones(32)
        values[[3, 7]] = float(bad)
        message = rf"{norm} holds 2 values that are not finite \(NaN or infinite\)$"
        assert_refused(remake(lambda tensors, _, values=values: tensors.update({norm: values})), message)
        assert_refused(remake(lambda tensors, _, values=values: tensors.update({norm: values.half()})), message)


def test_a_tokenizer_that_does_not_fit(tokenizer: SentencePieceTokenizer, parallel_text: list[tuple[str, str]], remake: Remake) -> None:
    def with_tokenizer(data: Tensor) -> Path:
        return remake(lambda tensors, _: tensors.update({TOKENIZER_KEY: data}))

    def as_tensor(data: bytes) -> Tensor:
        return torch.frombuffer(bytearray(data), dtype=torch.uint8)

    other = SentencePieceTokenizer.train([english for english, _ in parallel_text], vocab_size=390, num_threads=1)
    assert_refused(with_tokenizer(as_tensor(other.to_bytes())), r"its tokenizer has vocab_size 390, its model 400$")
    assert_refused(remake(reconfigure(bos_id=2, eos_id=1)), r"its tokenizer has bos_id 1, its model 2$")
    assert_refused(remake(reconfigure(pad_id=9)), r"its tokenizer has pad_id 0, its model 9$")
    assert_refused(with_tokenizer(as_tensor(b"not a model")), r"its tokenizer cannot be read: not a SentencePiece model \(11 bytes\)")
    assert_refused(with_tokenizer(as_tensor(tokenizer.to_bytes()[:-1])), r"its tokenizer cannot be read: not a SentencePiece model")
    assert_refused(with_tokenizer(torch.zeros(0, dtype=torch.uint8)), r"its tokenizer cannot be read: not a SentencePiece model \(0 bytes\)")
    assert_refused(with_tokenizer(torch.zeros(5)), rf"{TOKENIZER_KEY} has type F32 and shape \[5\], expected one row of at most \d+ U8$")
    assert_refused(with_tokenizer(torch.zeros(2, 5, dtype=torch.uint8)), rf"{TOKENIZER_KEY} has type U8 and shape \[2, 5\], expected one row")


def test_a_tokenizer_too_large(remake: Remake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint, "MAX_TOKENIZER_BYTES", 100)
    assert_refused(remake(lambda *_: None), rf"{TOKENIZER_KEY} has type U8 and shape \[\d+\], expected one row of at most 100 U8$")


def test_the_error_is_a_value_error(tiny_checkpoint: Path) -> None:
    assert issubclass(CheckpointError, ValueError)
    assert isinstance(load_checkpoint(tiny_checkpoint).config, TransformerConfig)
