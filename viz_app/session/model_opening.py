"""Opening of a checkpoint or an array file that a visitor brings or names."""

from collections.abc import Callable, Sequence
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from viz_app.drawing.display_text import FULL_STOPS
from viz_app.language import marked, tr
from viz_app.session import model_memory
from viz_app.session.model_memory import Loaded, SeveralModelsError
from viz_app.session.models import Model, own_translator, precision, refusals

if TYPE_CHECKING:  # torch takes a second to import: the page is drawn before
    from core import Explanation, Translator
    from core.formats.progress import Progress

OPENABLE = marked(  # advice after a refusal
    "Headlight opens its own .safetensors files, and models of other projects such as OPUS-MT, with all their files in "
    "a folder, in a zip archive or together: docs/formats.md lists the formats. It also opens attention that another "
    "program has computed, as an .npz file."
)


def opened_model(paths: Sequence[Path], path: str, progress: "Progress | None" = None, chosen: str = "") -> Model:
    """Load a checkpoint of Headlight or of another project, or an array file; it may be hostile.

    Args:
        paths: a folder, a zip archive, or the files.
        path: of the model, see `Model`.
        progress: called with the share of the weights that has been read; not for a checkpoint of Headlight.
        chosen: the model to open of a folder or an archive with several, by its path there.

    Raises:
        SeveralModelsError: there are several, and none of them is chosen.
        ModelError: it is not a usable checkpoint, or there is not enough memory for it.
    """
    from core import Translator
    from core.export.attention_arrays import explanation_of_arrays, holds_arrays, load_arrays
    from core.files.file_writing import file_digest
    from core.files.process_memory import PROCESS, SMALLER
    from core.formats.importing import import_files
    from core.formats.opening import content_digest, own_file
    from core.formats.progress import reporting
    from core.formats.several_models import model_names
    from core.formats.source_files import open_source
    from core.inference.device import best_device

    name = paths[0].name if len(paths) == 1 else f"{len(paths)} files"
    if len(paths) == 1:
        with refusals(name):
            several = model_names(paths[0])
        if several and chosen not in several:
            message = tr("{name} holds {count} models: choose one of them.", name=name, count=len(several))
            raise SeveralModelsError(message, name, several)
        if several:
            name = PurePosixPath(chosen).name if chosen != "." else name
            paths = [paths[0] / chosen] if paths[0].is_dir() else paths
    if len(paths) == 1 and holds_arrays(arrays := paths[0]):
        with refusals(name):
            digest = file_digest(arrays)
            return Model(name, digest, _shared(digest, lambda: explanation_of_arrays(load_arrays(arrays))), path)
    with (
        refusals(name),
        open_source(paths, chosen) as files,
        PROCESS.reserved(2 * files.num_bytes, name, SMALLER),  # numbers of 16 bits become float32
    ):
        if (own := own_file(files)) is not None:
            digest = file_digest(own)
            return Model(name, digest, _shared(digest, lambda: own_translator(own)), path)
        with reporting(progress):
            checkpoint = import_files(files)
    with refusals(name):
        digest = content_digest(checkpoint)
        if len(paths) > 1 and all(languages := checkpoint.tokenizer.languages):
            name = f"{'-'.join(languages)} ({name})"

        def load() -> Translator:
            model = checkpoint.model.to(best_device())
            return Translator(model, checkpoint.tokenizer, checkpoint.training, precision())

        return Model(name, digest, _shared(digest, load), path, is_imported=True)


def _shared(digest: str, load: "Callable[[], Translator | Explanation]") -> "Loaded":
    """The content of a file that a visitor opens."""
    return model_memory.opened((digest, precision()), load)


def with_advice(reason: str) -> str:
    """Append advice on files that can be opened to a refusal of one that is not a checkpoint of Headlight."""
    reason = with_full_stop(reason)
    return f"{reason} {tr(OPENABLE)}" if "safetensors file" in reason and "Headlight opens" not in reason else reason


def with_full_stop(reason: str) -> str:
    """Return a reason with a full stop, so that a sentence can follow."""
    return reason if reason.endswith(FULL_STOPS) else f"{reason}."
