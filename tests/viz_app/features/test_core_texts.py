"""Texts of `core` that the pages show are in the catalogues: they are listed again, as `core` marks none."""

import pytest

from core.analysis.corpus.behaviours import BEHAVIOURS
from core.analysis.heads.labels import DEFINITIONS
from core.analysis.interventions.minimal_pairs import CONTRASTS
from core.formats.model_facts import TIED, architecture_facts, token_facts
from core.preset_configs import PRESETS
from viz_app.language.extraction import interface_texts

CONFIG = PRESETS["base"]
SHOWN = {
    "behaviours": {text for each in BEHAVIOURS.values() for text in (each.name[:1].upper() + each.name[1:], each.text)},
    "labels": {*DEFINITIONS, *DEFINITIONS.values()},
    "contrasts": {each.capitalize() for each in CONTRASTS},
    "facts": {name[:1].upper() + name[1:] for name in architecture_facts(CONFIG) | token_facts(CONFIG)},
    "values": {*TIED.values(), architecture_facts(CONFIG)["embeddings"], architecture_facts(CONFIG)["end of a search"]},
}


@pytest.mark.parametrize("kind", SHOWN)
def test_texts_of_core_are_marked(kind: str) -> None:
    assert not SHOWN[kind] - interface_texts().keys()
