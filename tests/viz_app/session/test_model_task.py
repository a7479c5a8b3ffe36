"""What models are offered as."""

from pathlib import Path

import pytest

from core.files.shipped_files import shipped_folder
from viz_app.language import speaking
from viz_app.session import model_task
from viz_app.session.model_task import Offer

SHIPPED = sorted(shipped_folder("checkpoints").glob("*.safetensors"), key=lambda path: path.stem != "en-de")


def offered(code: str = "en") -> dict[str, str]:
    with speaking(code):
        return model_task.labels([model_task.file_offer(path.stem, path) for path in SHIPPED])


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("en-de", "English to German"),
        ("en-fr", "English to French"),
        ("en-de-mask-predict", "English to German, all words at once"),
        ("lines", "Reads pictures of text"),
        ("parsing", "Parses sentences"),
        ("reverse-learned", "Learned positions, reverses letters"),
    ],
)
def test_a_shipped_model_is_offered_by_what_its_metadata_say_that_it_does(name: str, label: str) -> None:
    assert offered()[name] == label


def test_no_two_models_are_offered_alike() -> None:
    assert len(set(offered().values())) == len(SHIPPED)


def test_languages_are_named_in_that_of_the_visitor() -> None:
    assert offered("de")["en-fr"] == "Englisch \u2013 Franz\u00f6sisch"


def test_a_model_whose_metadata_say_nothing_has_the_name_of_its_file(tiny_checkpoint: Path, tmp_path: Path) -> None:
    assert model_task.file_offer("tiny", tiny_checkpoint).task == ""
    (tmp_path / "bad.safetensors").write_bytes(b"no checkpoint")
    offers = [model_task.file_offer("bad", tmp_path / "bad.safetensors"), Offer("digest", "mine.npz")]
    assert model_task.labels(offers) == {"bad": "bad.safetensors", "digest": "mine.npz"}


def test_a_visitors_own_model_begins_with_the_name_of_its_file() -> None:
    shipped = Offer("en-de", "en-de.safetensors", "English to German", "6 + 6", is_shipped=True)
    mine = Offer("digest", "run-42.safetensors", "English to German", "6 + 6")
    label = "run-42.safetensors \u00b7 English to German"
    for offers in ([shipped, mine], [mine, shipped]):
        assert model_task.labels(offers) == {"en-de": "English to German", "digest": label}
    again = Offer("other", mine.name, mine.task, mine.layers)
    assert model_task.labels([mine, again]) == {"digest": label, "other": f"{label} (othe)"}
