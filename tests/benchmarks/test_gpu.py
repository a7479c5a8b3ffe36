"""The benchmark of GPUs works on a CPU, and says where a device computes something else."""

import subprocess
import sys

import pytest
import torch

from benchmarks import gpu

# what the Python of a machine with a GPU may lack
WITHOUT = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"PYEVALB", "sacremoses", "streamlit", "plotly", "bertviz", "transformers"}:
            raise ImportError(name)

sys.meta_path.insert(0, Missing())
import benchmarks.gpu
"""


@pytest.mark.parametrize(
    ("one", "two", "expected"),
    [
        ("das 0.50\n", "das 0.50\n", "same, 1 numbers within 0.0e+00"),
        ("das 0.5000 -2.0", "das 0.5001 -2.0", "same, 2 numbers within 1.0e-04"),
        ("das 1234.50", "das 1234.60", "same, 1 numbers within 8.1e-05"),
        ("das 0.50", "das 0.51", "DIFFERENT NUMBERS, 1 numbers within 1.0e-02"),
        ("das 0.50", "dem 0.50", "DIFFERENT WORDS"),
        ("das 0.50", "status 1: out of memory", "FAILED: status 1: out of memory"),
    ],
)
def test_outputs_are_compared_by_words_and_numbers(one: str, two: str, expected: str) -> None:
    assert gpu.difference(one, two) == expected


def test_attention_and_training_are_timed_on_a_cpu(capsys: pytest.CaptureFixture[str]) -> None:
    assert gpu.main(["--device", "cpu", "--part", "attention", "training"]) == 0
    table = capsys.readouterr().out
    for row in ("attention, forward and backward", "training tiny, padded", "training tiny, packed"):
        assert f"| {row} |" in table


def test_commands_print_the_same_on_the_same_device(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = gpu.command_lines

    def few(folder):
        return {name: arguments for name, arguments in lines(folder).items() if name in ("translate", "lens", "corpus")}

    monkeypatch.setattr(gpu, "command_lines", few)
    assert gpu.main(["--device", "cpu", "--part", "commands"]) == 0
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| core ")]
    assert len(rows) == 3
    assert all("| same, " in row for row in rows)


def test_padded_and_packed_batches_have_the_same_pairs() -> None:
    padded, packed = (gpu.batches(gpu.SMALL, packed) for packed in (False, True))
    assert padded
    assert packed
    assert max(len(batch.source) for batch in packed) == gpu.SMALL.batch_tokens
    assert all(batch.source.numel() <= gpu.SMALL.batch_tokens for batch in padded)
    assert torch.is_tensor(packed[0].target_starts)


def test_it_needs_nothing_that_a_machine_for_training_lacks() -> None:
    assert subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True, check=False).stderr == ""
