"""Explanations with their origin, and the JSON description in every format.

The description, version 1; layers, heads and positions are counted from 0:

    format           "headlight-explanation"
    format_version   1
    model            name, sha256 (of its file, if known), parameters, config (`core.model.config`), training (facts)
    settings         origin of the target, such as {"target": "search", "beam_size": 4, "length_penalty": 0.6}
    versions         of headlight, torch and python
    source, target   the texts
    source_tokens    S pieces, `</s>` last
    fed_tokens       T pieces fed to the decoder, `<s>` first
    predicted_tokens T pieces predicted at the same positions, `</s>` last
    log_probs        T log-probabilities of the predicted tokens, in nats; none, like the alternatives, if unknown
    roles            of the tokens of `source`, `fed` and `predicted`, by which special tokens are known whatever they
                     are called: "start", "end", "language", "prefix" or "text"
    alternatives     the most probable pieces at each of the T positions as [piece, log-probability], best first
    attention        for each kind ("encoder_self", "decoder_self", "cross"):
        axes             ["layer", "head", "query", "key"]
        query_tokens     tokens of the query axis
        key_tokens       tokens of the key axis
        predicted_tokens tokens predicted at each query; null in the encoder
        weights          [layers][heads][queries][keys], each row summing to 1

A JSON file is the description. An NPZ file has it as the text `description`, except for `weights`: these are the
float32 arrays `encoder_self`, `decoder_self` and `cross`. Both keep every float32 to the bit.
"""

import json
import math
import platform
from dataclasses import asdict, dataclass, field
from typing import Any, cast, get_args

import numpy as np
import torch
from numpy.typing import NDArray

from core.capture import AttentionMap, visible_mask
from core.files.shipped_files import installed_version
from core.files.strict_json import json_text
from core.model.config_checks import require_size
from core.results import Explanation
from core.text.byte_pieces import alternative_piece, resolve_bytes, token_role, with_roles
from core.text.tokenizer import Role
from core.trace import KINDS, Kind
from core.translator import Translator

FORMAT, FORMAT_VERSION = "headlight-explanation", 1
AXES = ["layer", "head", "query", "key"]
AXIS_TOKENS = ("query_tokens", "key_tokens", "predicted_tokens")
WeightArrays = dict[Kind, NDArray[np.float32]]  # [layers, heads, queries, keys] of each kind


@dataclass(frozen=True)
class ExplanationRecord:
    """An explanation and its origin."""

    explanation: Explanation  # tokens, log-probabilities, alternatives and all attention maps
    model: dict[str, Any] = field(default_factory=dict)  # see the module docstring, as for the next two
    settings: dict[str, Any] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)


def record_of(
    explanation: Explanation,
    translator: Translator,
    settings: dict[str, Any],
    name: str | None = None,
    sha256: str | None = None,
) -> ExplanationRecord:
    """Combine an explanation with the origin of its target, and with the facts of its model and the model's file."""
    model = {
        "name": name,
        "sha256": sha256,
        "parameters": sum(parameter.numel() for parameter in translator.model.parameters()),
        "config": json.loads(json_text(asdict(translator.model.config))),  # lists in place of tuples
        "training": _finite(translator.training),
    }
    versions = {"headlight": installed_version(), "torch": torch.__version__, "python": platform.python_version()}
    return ExplanationRecord(explanation, model, settings, versions)


def _finite(fact: Any) -> Any:
    """A copy for JSON: numbers that are not finite become null."""
    if isinstance(fact, dict):
        return {str(name): _finite(value) for name, value in cast("dict[Any, Any]", fact).items()}
    if isinstance(fact, list):
        return [_finite(value) for value in cast("list[Any]", fact)]
    return None if isinstance(fact, float) and not math.isfinite(fact) else fact


def description(record: ExplanationRecord) -> dict[str, Any]:
    """The description without its weights."""
    explanation = record.explanation
    sides = {
        "source": explanation.source_tokens,
        "fed": explanation.fed_tokens,
        "predicted": explanation.predicted_tokens,
    }
    return {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "model": record.model,
        "settings": record.settings,
        "versions": record.versions,
        "source": explanation.source,
        "target": explanation.target,
        **{f"{side}_tokens": list(tokens) for side, tokens in sides.items()},
        "roles": {side: list(map(token_role, tokens)) for side, tokens in sides.items()},
        "log_probs": list(explanation.log_probs),
        "alternatives": [[list(alternative) for alternative in position] for position in explanation.alternatives],
        "attention": {
            kind: {
                "axes": AXES,
                "query_tokens": list(layers[0].query_tokens),
                "key_tokens": list(layers[0].key_tokens),
                "predicted_tokens": None if layers[0].predicted_tokens is None else list(layers[0].predicted_tokens),
            }
            for kind, layers in explanation.maps.items()
        },
    }


def weights_of(explanation: Explanation) -> WeightArrays:
    """The attention of each kind as one array: [layers, heads, queries, keys]."""
    return {
        kind: np.stack([layer.weights.numpy() for layer in layers]).astype(np.float32)
        for kind, layers in explanation.maps.items()
    }


def parse_description(content: object, weights: WeightArrays) -> ExplanationRecord:
    """Rebuild a record from a description and weights of an untrusted file.

    Raises:
        ValueError: the description is invalid, or its tokens do not match the weights.
    """
    if not isinstance(content, dict) or cast("dict[str, Any]", content).get("format") != FORMAT:
        raise ValueError(f"not an exported explanation: expected the format {FORMAT!r}")
    facts = cast("dict[str, Any]", content)
    if facts.get("format_version") != FORMAT_VERSION:
        raise ValueError(
            f"its format_version is {facts.get('format_version')!r}, this Headlight reads {FORMAT_VERSION}: try a "
            f"newer version of Headlight"
        )
    try:
        counts = {name: len(facts[name]) for name in ("fed_tokens", "predicted_tokens", "log_probs", "alternatives")}
        of_tokens, of_probabilities = list(counts.values())[:2], list(counts.values())[2:]
        if len({*of_tokens, *(of_probabilities if any(of_probabilities) else ())}) > 1:
            raise ValueError(
                f"expected equal numbers, found {', '.join(f'{count} {name}' for name, count in counts.items())}"
            )
        masks = _neighbourhood(facts["model"]), _config_value(facts["model"], "mask_id") is None
        source_tokens, fed_tokens, predicted_tokens = (
            _placed_tokens(facts, side) for side in ("source", "fed", "predicted")
        )
        axes: dict[Kind, tuple[tuple[str, ...], tuple[str, ...]]] = {
            "encoder_self": (source_tokens, source_tokens),
            "decoder_self": (fed_tokens, fed_tokens),
            "cross": (fed_tokens, source_tokens),
        }
        maps: dict[Kind, tuple[AttentionMap, ...]] = {
            kind: _layers(kind, facts["attention"][kind], weights[kind], (*axes[kind], predicted_tokens), *masks)
            for kind in KINDS
            if kind in facts["attention"]
        }
        explanation = Explanation(
            source=facts["source"],
            target=facts["target"],
            source_tokens=source_tokens,
            fed_tokens=fed_tokens,
            predicted_tokens=predicted_tokens,
            log_probs=tuple(map(float, facts["log_probs"])),
            alternatives=tuple(
                tuple(
                    (alternative_piece(predicted_tokens, position, _text(piece)), log_prob)
                    for piece, log_prob in content
                )
                for position, content in enumerate(facts["alternatives"])
            ),
            maps=maps,
        )
        return ExplanationRecord(explanation, facts["model"], facts["settings"], facts["versions"])
    except KeyError as error:
        raise ValueError(f"the exported explanation lacks {error}") from error
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"the exported explanation is damaged: {error}") from error


def _tokens(tokens: Any) -> tuple[str, ...]:
    return resolve_bytes([_text(token) for token in tokens])


def _placed_tokens(facts: dict[str, Any], side: str) -> tuple[str, ...]:
    """Tokens of a side with their roles, which the files of old versions do not have."""
    tokens = _tokens(facts[f"{side}_tokens"])
    roles: list[Role] = [token_role(token) for token in tokens] if "roles" not in facts else facts["roles"][side]
    if len(roles) != len(tokens) or any(role not in get_args(Role) for role in roles):
        raise ValueError(f"{side} has {len(tokens)} tokens and the roles {roles!r:.60}, expected one for each token")
    return with_roles(tokens, roles)


def _text(token: Any) -> str:
    if not isinstance(token, str):
        raise TypeError(f"expected a token as a text, found {token!r:.50}")
    return token


def _layers(
    kind: Kind,
    axes: dict[str, Any],
    weights: NDArray[np.float32],
    sides: tuple[tuple[str, ...], ...],
    neighbourhood: int | None,
    autoregressive: bool,
) -> tuple[AttentionMap, ...]:
    if weights.ndim != len(AXES):
        raise ValueError(f"{kind} has {weights.ndim} axes, expected {len(AXES)}: {', '.join(AXES)}")
    axis_tokens = [_tokens(tokens) if tokens is not None else None for tokens in map(axes.__getitem__, AXIS_TOKENS)]
    query_tokens, key_tokens, predicted_tokens = (
        side if tokens == side else tokens for tokens, side in zip(axis_tokens, sides, strict=True)
    )
    if query_tokens is None or key_tokens is None:
        raise ValueError(f"{kind} has no query_tokens or no key_tokens")
    names = query_tokens, key_tokens, predicted_tokens
    if weights.shape[2:] != (len(names[0]), len(names[1])):  # before a mask of so many tokens
        raise ValueError(
            f"{kind} has weights for {weights.shape[2]} queries and {weights.shape[3]} keys, and {len(names[0])} and "
            f"{len(names[1])} tokens: expected as many"
        )
    matrices = [torch.from_numpy(matrix.copy()) for matrix in weights]
    return tuple(
        AttentionMap(kind, layer, each, *names, visible_mask(kind, each, neighbourhood, autoregressive))
        for layer, each in enumerate(matrices)
    )


def _neighbourhood(model: Any) -> int | None:
    """`neighbourhood` of the model's configuration, if the description has one."""
    neighbourhood = _config_value(model, "neighbourhood")
    if neighbourhood is not None:
        require_size("neighbourhood", neighbourhood)
    return neighbourhood


def _config_value(model: Any, name: str) -> Any:
    config = cast("dict[str, Any]", model).get("config") if isinstance(model, dict) else None
    return cast("dict[str, Any]", config).get(name) if isinstance(config, dict) else None
