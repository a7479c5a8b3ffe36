"""Formats of other programs that are recognised only to be refused by name."""

import re
from typing import Any, cast

from core.formats.refused_files import ADAPTER, IN_PYTORCH, refuse_adapter, refuse_file
from core.formats.settings import Settings
from core.formats.source_files import SourceFiles
from core.formats.untrusted_parameters import CheckpointError

ENCODER_DECODER = "Headlight shows encoder-decoder models: give one of those in docs/formats.md"
ARRAYS = "For pictures of its attention, see `python -m core explain-arrays` in docs/formats.md"
# Names in folders without parameters, what the folders are, and what to do.
FOLDERS = (
    (re.compile(r"checkpoint-\d{1,12}"), "the folder of a training by transformers", "give {} in it, which is a model"),
    (re.compile("onnx"), "a model in ONNX, graphs of operations without the names of the parts", IN_PYTORCH),
    (re.compile(r"params\.(best|\d{5})"), "a model of Sockeye", f"Headlight imports none. {ARRAYS}"),
    (re.compile(r"adapter_(config\.json|model\..+)"), *ADAPTER),
    (re.compile(r".+\.ckpt-\d+\.(index|meta|data.+)"), "a checkpoint of TensorFlow", IN_PYTORCH),
    (re.compile("zero_to_fp32.py"), "a training by DeepSpeed", "run its own `python {} . OUT`, and give OUT"),
)
# Types and classes of transformers that have one stack, and the one that they lack.
ALONE = {
    ("a decoder", "an encoder"): re.compile(
        r"gpt2|gpt_neo|gptj|gpt_neox|gpt_bigcode|llama|mistral|mixtral|qwen[23]|gemma[23]?|phi3?|opt|bloom|falcon|mpt|"
        r"codegen|xglm|stablelm|openai-gpt|.*(ForCausalLM|LMHeadModel)"
    ),
    ("an encoder", "a decoder"): re.compile(
        r"bert|roberta|distilbert|xlm-roberta|electra|albert|deberta(-v2)?|modernbert|"
        r".*For(MaskedLM|PreTraining|\w+Classification)"
    ),
}
# What other models of transformers have that Headlight's has not, by their type.
OTHERS = {
    "longt5": "its encoder attends to a window around each token, and to means of blocks",
    "switch_transformers": "its feed-forward networks are experts, of which a router selects one for each token",
}


def refuse_by_name(files: SourceFiles) -> None:
    """Refuse files of programs that Headlight knows but does not import with a `CheckpointError` that names them."""
    _refuse_other_types(files)
    refuse_foreign_weights(files)


def refuse_foreign_weights(files: SourceFiles) -> None:
    """Refuse files whose parameters, if there are any, are of another program; see `refuse_by_name`."""
    for pattern, what, advice in FOLDERS:
        if inside := sorted(filter(pattern.fullmatch, files.names | files.folders), key=lambda each: (len(each), each)):
            raise CheckpointError(f"{files.label} is {what}: {advice.format(inside[-1])}")
    for name in sorted(files.names):
        refuse_adapter(files.located(name), name)
        refuse_file(files.located(name), name)


def _refuse_other_types(files: SourceFiles) -> None:
    """Refuse a model of transformers, by its config.json."""
    settings = Settings.read(files, "config.json").values
    kind, classes = settings.get("model_type"), settings.get("architectures")
    if not isinstance(kind, str):
        return
    names = [name for name in cast("list[Any]", classes if isinstance(classes, list) else []) if isinstance(name, str)]
    for (stack, other), pattern in ALONE.items() if settings.get("is_encoder_decoder") is not True else ():
        if any(map(pattern.fullmatch, [kind, *names])):
            raise CheckpointError(
                f"config.json describes {kind!r:.60}, {stack} alone, without {other} and the attention between the "
                f"two: {ENCODER_DECODER}"
            )
    reason = f": {OTHERS[kind]}" if kind in OTHERS else ""
    raise CheckpointError(f"config.json: model_type is {kind!r:.60}, which Headlight does not import{reason}. {ARRAYS}")
