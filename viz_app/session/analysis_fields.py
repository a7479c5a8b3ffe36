"""Fields of the address of panels of analyses: whether a panel is open, and each option that has a label."""

import dataclasses
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

from viz_app.session.address_codecs import INTEGER, NUMBER, SWITCH, TEXT, Codec, choice
from viz_app.session.fields import FIELDS, Field

if TYPE_CHECKING:  # imports torch
    from core.analysis.declaration import Analysis


class PanelFields(NamedTuple):
    """Fields of a panel, those of the options by their names."""

    is_open: Field[bool]
    options: dict[str, Field[Any]]


@cache
def panel_fields(analysis: "Analysis") -> PanelFields:
    """Return the fields: `row_entropy`, and `row_entropy_OPTION`."""
    prefix, kinds = analysis.name.replace("-", "_"), get_type_hints(analysis.options)
    shown = [each for each in dataclasses.fields(analysis.options) if each.metadata["label"]]
    return PanelFields(
        Field(prefix, SWITCH, False),
        {each.name: Field(f"{prefix}_{each.name}", _codec(kinds[each.name]), each.default) for each in shown},
    )


def _codec(kind: Any) -> Codec[Any]:
    if get_origin(kind) is Literal:
        return choice({str(value): value for value in get_args(kind)})
    return {bool: SWITCH, int: INTEGER, float: NUMBER}.get(kind, TEXT)


def declare_named(parameters: Iterable[str]) -> None:
    """Declare the fields of all panels if an address has a parameter that no other field has."""
    if not FIELDS.keys() >= set(parameters):
        from core.analysis.panels import PANELS  # imports torch

        for analysis in PANELS:
            panel_fields(analysis)
