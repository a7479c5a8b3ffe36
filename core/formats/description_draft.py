"""A draft of the config.json that describes a hand-written model: what its parameters show, and what they do not.

Names of modules are recognised by their words, and shapes decide between the two layers of a feed-forward network. What
cannot be seen is "?", which the reader refuses until it is filled in.
"""

import re
from collections import defaultdict
from typing import Any

from core.formats.checkpoint import CheckpointError
from core.formats.module_names import MAX_NAME, PARAMETERS, renamed_parameters
from core.formats.pickle_sizes import ForeignCallError
from core.formats.refused_formats import ARRAYS
from core.formats.source_files import SourceFiles
from core.formats.state_dicts import SUFFIXES, StateDict, open_state_dict, weights_file
from core.formats.torch_transformer import FIRST, NAME, OF_TARGET, TABLE
from core.formats.weights import Weights
from core.text.piece_splitting import CHARACTERS, WORDS
from core.text.text_files import split_lines

UNKNOWN = "?"  # value of an option that has to be filled in
LAYER = re.compile(r"(?P<stack>[^.]*(?:\.[^.]+)*?)\.(?P<number>\d{1,4})\.(?P<rest>.+)")
STACK = re.compile(r"enc|dec", re.IGNORECASE)
ATTENTION = re.compile(r"att|mha", re.IGNORECASE)
CROSS = re.compile(r"cross|src_att|enc\w*att|enc_?dec|multihead_attn|context|memory", re.IGNORECASE)
_AFFIXES = r"(?:w|fc|to|lin|linear|proj|dense)?_?", r"(?:_?(?:proj|projection|linear|lin|layer|fc|dense))?"
# Last part of the name of a projection of attention.
PROJECTIONS = {
    target: re.compile("|".join(f"{_AFFIXES[0]}{word}{_AFFIXES[1]}" for word in words), re.IGNORECASE)
    for target, words in {
        "in_proj": ("qkv",),
        "q_proj": ("qs?", "query", "queries"),
        "k_proj": ("ks?", "keys?"),
        "v_proj": ("vs?", "values?"),
        "out_proj": ("o", "out", "output", "concat", "fc", "proj", "dense"),
    }.items()
}
NUMBERED = ("q_proj", "k_proj", "v_proj", "out_proj")  # of the Annotated Transformer's `linears`
RECURRENT = re.compile(r"(weight|bias)_[ih]h(_l\d|$)|(^|[._])(lstm|gru|rnn)([._\d]|$)", re.IGNORECASE)
DECODER = re.compile(r"(^|[._])(dec|h\.\d|wte|lm_head|model\.layers|blocks?\.\d)", re.IGNORECASE)
DRAFT = "`python -m core inspect FILE --draft config.json` writes a description to fill in, with which it opens"
TOKENS = re.compile(r"emb|lut|tok|vocab", re.IGNORECASE)
HEADS = ("nhead", "n_head", "n_heads", "num_heads", "heads", "h")  # names of the setting
SPELLINGS = {
    "pad": ("<pad>", "<blank>", "[PAD]", "<PAD>"),
    "start": ("<s>", "<bos>", "<sos>", "[SOS]", "[BOS]", "<SOS>", "<BOS>"),
    "end": ("</s>", "<eos>", "[EOS]", "<EOS>"),
    "unknown": ("<unk>", "[UNK]", "<UNK>"),
}


def draft(files: SourceFiles) -> dict[str, Any]:
    """A draft of config.json for the only file of parameters.

    Raises:
        CheckpointError: there is not one such file, or it holds no encoder and decoder.
    """
    name = weights_file(files)
    with open_state_dict(files.path(name), name) as state:
        weights = renamed_parameters(state.weights, {})
        names = {} if any(each.endswith(FIRST) for each in weights.shapes) else _names(weights)
        try:
            known = renamed_parameters(state.weights, names)
        except CheckpointError as error:
            raise CheckpointError(f"its names are not recognised: {error}, by hand (docs/formats.md)") from error
        first = next((each for each in known.shapes if each.endswith(FIRST)), None)
        if first is None or len(known.shapes[first]) != 2 or 0 in known.shapes[first]:
            found = _found(state).replace(DRAFT, "write config.json as docs/formats.md describes it")
            raise CheckpointError(f"{name} {found}: its layers are not recognised")
        return _description(files, state, known, names, first.removesuffix(FIRST))


def refuse_parameters(files: SourceFiles) -> None:
    """Refuse parameters alone with a `CheckpointError` that says what they are, by their names, and what to do."""
    unread: list[CheckpointError] = []
    for name in sorted(name for name in files.names if name.endswith(SUFFIXES)):
        try:
            with open_state_dict(files.path(name), name) as state:
                found = _found(state)
        except CheckpointError as error:  # of a file of PyTorch, or one that is readable, but not tensors alone
            unread += [error] * (name.endswith(".pt") or isinstance(error.__cause__, ForeignCallError))
            continue
        raise CheckpointError(f"{name} {found}")
    if unread:
        raise unread[0]


def _found(state: StateDict) -> str:
    """What parameters are of, and what to do."""
    names = list(state.weights.shapes)
    if not names:
        return "has no tensors, it was saved empty: torch.save(model.state_dict(), FILE) saves them"
    some = ", ".join([f"{name:.60}" for name in names[:2]] + [f"under {key!r:.40}" for key in state.keys])
    crossing = any(map(CROSS.search, names)) or len({each.lower() for each in STACK.findall(" ".join(names))}) > 1
    if any(map(RECURRENT.search, names)):
        return f"has the parameters of a recurrent model ({some}): Headlight shows Transformers"
    if crossing or not any(map(ATTENTION.search, names)):
        fairseq = "Those of fairseq have dict.*.txt beside them or in data-bin: give the folder of both"
        return f"has parameters without a description ({some}): {DRAFT}. {fairseq}"
    stack, other = ("a decoder", "encoder") if any(map(DECODER.search, names)) else ("an encoder", "decoder")
    return f"has the parameters of {stack} alone, without {other} ({some}). {ARRAYS}"


def _description(
    files: SourceFiles, state: StateDict, weights: Weights, names: dict[str, str], prefix: str
) -> dict[str, Any]:
    notes = [f"{len(weights.shapes)} tensors" + "".join(f", under {key!r}" for key in state.keys)]
    if state.prefix:
        notes.append(f"without the prefix {state.prefix[:60]!r} of all names")
    heads = next((state.settings[key] for key in HEADS if isinstance(state.settings.get(key), int)), UNKNOWN)
    sample_std = any(each.endswith(".a_2") for each in state.weights.shapes)
    own_norms = any(each.endswith((".alpha", ".gamma")) for each in state.weights.shapes)
    described: dict[str, Any] = {
        "model_type": NAME,
        "nhead": heads,
        "norm_first": UNKNOWN,
        "activation": UNKNOWN,
        "scale_embedding": UNKNOWN,
        **({"layer_norm": "sample_std", "layer_norm_eps": 1e-6} if sample_std else {"layer_norm_eps": UNKNOWN}),
        **({"layer_norm": UNKNOWN} if own_norms else {}),
        **_matrices(weights, prefix, notes),
        **vocabulary_options(files, notes),
        "source_start": UNKNOWN,
        "source_end": UNKNOWN,
    }
    if names:
        described["names"] = names
    missing = [key for key, value in described.items() if value == UNKNOWN]
    notes.append(f"fill in what the parameters do not show: {', '.join(missing)}")
    return described | {"notes": notes}


def _names(weights: Weights) -> dict[str, str]:
    """Map of names of modules, of what is recognised."""
    found: dict[str, str] = {}
    norms: dict[str, list[str]] = defaultdict(list)
    networks: dict[str, list[str]] = defaultdict(list)
    for name, shape in weights.shapes.items():
        module, _, parameter = name.rpartition(".")
        if len(name) > MAX_NAME or PARAMETERS.get(parameter) != "weight":
            continue
        match = LAYER.fullmatch(module)
        place = STACK.findall(match["stack"] if match else module)
        if not place:
            continue
        stack = "decoder" if place[-1].lower() == "dec" else "encoder"
        if match is None:
            if len(shape) == 1:
                found[module] = f"{stack}.norm"
        elif match["number"] == "0":
            layer = f"{match['stack']}.*.{match['rest']}"
            projection = _projection(match["rest"], stack) if len(shape) == 2 else None
            if projection:
                found[layer] = f"{stack}.layers.*.{projection}"
            else:
                (norms if len(shape) == 1 else networks)[stack].append(layer)
    for stack, layers in norms.items():
        order = ("norm1", "norm2", "norm3")
        for number, layer in enumerate(sorted(layers, key=lambda each: _rank(each.rpartition("*.")[2], stack))):
            found[layer] = f"{stack}.layers.*.{order[min(number, 2)]}"
    for stack, layers in networks.items():
        for number, layer in enumerate(layers[:2]):
            found[layer] = f"{stack}.layers.*.linear{number + 1}"
    return found


def _projection(rest: str, stack: str) -> str | None:
    """Torch's name of a projection of attention, from its name in a layer."""
    *path, last = rest.split(".")
    if not any(map(ATTENTION.search, path)):
        return None
    attention = "multihead_attn" if stack == "decoder" and CROSS.search(".".join(path)) else "self_attn"
    if last.isdecimal():
        return f"{attention}.{NUMBERED[int(last)]}" if len(last) == 1 and int(last) < len(NUMBERED) else None
    target = next((target for target, pattern in PROJECTIONS.items() if pattern.fullmatch(last)), None)
    return f"{attention}.{target}" if target else None


def _rank(rest: str, stack: str) -> int:
    """Place of a norm among those of a layer, by its name; norms without a cue keep their order."""
    if not ATTENTION.search(rest) and not re.search(r"ff|feed", rest, re.IGNORECASE):
        return 1
    if not ATTENTION.search(rest):
        return 2
    return 1 if stack == "decoder" and CROSS.search(rest) else 0


def _matrices(weights: Weights, prefix: str, notes: list[str]) -> dict[str, Any]:
    """Options that name embeddings, output and tables of positions."""
    width = weights.shapes[f"{prefix}{FIRST}"][1]
    stacks = tuple(f"{prefix}{stack}.layers." for stack in ("encoder", "decoder"))
    rest = {
        name: shape
        for name, shape in weights.shapes.items()
        if not name.startswith(stacks) and len(shape) > 1 and shape[-1] == width and len(name) <= MAX_NAME
    }
    tables = sorted(filter(TABLE.fullmatch, rest), key=lambda name: bool(OF_TARGET.search(name)))
    matrices = [name for name, shape in rest.items() if name not in tables and len(shape) == 2]
    embeddings = sorted(filter(TOKENS.search, matrices), key=lambda name: bool(OF_TARGET.search(name)))
    outputs = [name for name in matrices if name not in embeddings and name.endswith(".weight")]
    found: dict[str, Any] = {
        "source_embedding": embeddings[0] if embeddings else UNKNOWN,
        "target_embedding": embeddings[-1] if embeddings else UNKNOWN,
    }
    if outputs:
        found["output"] = outputs[-1].removesuffix(".weight")
    for option, name in zip(("position_table", "target_position_table"), tables[:1] + tables[1:][-1:], strict=False):
        found[option] = name
    if not tables:
        notes.append("no table of positions: taken as the paper's sines and cosines; option positions")
    for title, names in (("embeddings", embeddings[:1] + embeddings[1:][-1:]), ("tables of positions", tables)):
        notes += [f"{title}: {name} {list(rest[name])}" for name in names]
    surplus = [name for name in matrices if name not in embeddings and name not in outputs[-1:]]
    if surplus:
        notes.append(f"not used, name them under ignored if they are no parameters: {', '.join(surplus[:8])[:300]}")
    notes.append(f"width {width}")
    return found


def vocabulary_options(files: SourceFiles, notes: list[str]) -> dict[str, Any]:
    """Special pieces, and how texts are split, by the list of pieces beside the parameters."""
    lists = sorted(name for name in files.names if name in ("vocab.txt", "source_vocab.txt", "target_vocab.txt"))
    models = sorted(name for name in files.names if name.endswith(".model"))
    pieces = split_lines(files.text(lists[-1])) if lists else []
    if not lists and not models:
        notes.append(
            "no vocabulary: write the pieces, one a line, to source_vocab.txt and target_vocab.txt, or give "
            '"vocabulary": "numbers", with which texts are the numbers of tokens'
        )
    found: dict[str, Any] = {
        option: next((each for each in spellings if each in pieces), UNKNOWN) for option, spellings in SPELLINGS.items()
    }
    ordinary = {len(piece) for piece in pieces if piece not in found.values()}
    split = UNKNOWN if not pieces else CHARACTERS if ordinary == {1} else WORDS
    return found if models else {**found, "split": split}
