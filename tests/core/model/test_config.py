"""Every valid configuration builds a model."""

import re
from dataclasses import FrozenInstanceError, fields, replace
from typing import Any, Literal, get_args, get_origin

import pytest

from core.analysis.model_variations import TABLE_3
from core.files.budget import MAX_HEADS, MAX_PICTURE_HEIGHT, MAX_POSITION_OFFSET, MAX_SIZES, shown
from core.formats.huggingface import ARCHITECTURE
from core.formats.untrusted_parameters import num_parameters
from core.model.config import TransformerConfig
from core.model.preset_configs import PRESETS

SIZES = (
    *("vocab_size", "d_model", "d_ff", "num_heads", "num_encoder_layers", "num_decoder_layers", "max_positions"),
    *("patch_rows", "relative_buckets", "relative_max_distance"),
)
OPTIONAL_SIZES = ("patch_size", "num_decoder_heads", "d_k", "d_v", "neighbourhood", "decoder_d_ff", "target_vocab_size")
CHOICES = {field.name: field.type for field in fields(TransformerConfig) if get_origin(field.type) is Literal}
SWITCHES = [field.name for field in fields(TransformerConfig) if field.type is bool]
ID_LISTS = [field.name for field in fields(TransformerConfig) if field.type == tuple[int, ...]]
IDS = ("pad_id", "bos_id", "eos_id", "forced_first_id", "mask_id")


def config(**changes: Any) -> TransformerConfig:
    return TransformerConfig(**{"vocab_size": 100, "d_model": 32, "num_heads": 4, **changes})


def assert_invalid(message: str, **changes: Any) -> None:
    with pytest.raises(ValueError, match=message):
        config(**changes)


@pytest.mark.parametrize(("preset", "expected"), [("base", 63_082_496), ("big", 214_245_376)])
def test_parameters_of_the_papers_models(preset: str, expected: int) -> None:
    assert num_parameters(PRESETS[preset]) == expected


def test_parameters_of_base_add_up() -> None:
    d, ff, vocab = 512, 2048, 37_000
    attention = 4 * (d * d + d)
    feed_forward = d * ff + ff + ff * d + d
    norm = 2 * d
    encoder = 6 * (attention + feed_forward + 2 * norm)
    decoder = 6 * (2 * attention + feed_forward + 3 * norm)
    assert num_parameters(PRESETS["base"]) == vocab * d + encoder + decoder


@pytest.mark.parametrize("preset", [name for name, row in TABLE_3.items() if row.parameters and name != "big"])
def test_parameters_of_table_3(preset: str) -> None:
    """One vocabulary of 40,800 pieces matches every parameter count in the table but that of the big model."""
    millions = TABLE_3[preset].parameters
    assert num_parameters(replace(PRESETS[preset], vocab_size=40_800)) / 1e6 == pytest.approx(millions, abs=0.6)


def test_rows_of_table_3_differ_from_base_as_the_table_says() -> None:
    def differences(preset: str) -> dict[str, Any]:
        base = vars(PRESETS["base"])
        return {name: value for name, value in vars(PRESETS[preset]).items() if value != base[name]}

    assert differences("A-h1") == {"num_heads": 1, "d_k": 512, "d_v": 512}
    assert differences("A-h4") == {"num_heads": 4, "d_k": 128, "d_v": 128}
    assert differences("A-h16") == {"num_heads": 16, "d_k": 32, "d_v": 32}
    assert differences("A-h32") == {"num_heads": 32, "d_k": 16, "d_v": 16}
    assert differences("B-dk16") == {"d_k": 16}
    assert differences("B-dk32") == {"d_k": 32}
    assert differences("C-N8") == {"num_encoder_layers": 8, "num_decoder_layers": 8}
    assert differences("C-d256") == {"d_model": 256, "d_k": 32, "d_v": 32}
    assert differences("C-d1024") == {"d_model": 1024, "d_k": 128, "d_v": 128}
    assert differences("D-dropout0.0") == {"dropout": 0.0}
    assert differences("D-dropout0.2") == {"dropout": 0.2}
    assert differences("D-label-smoothing0.0") == differences("D-label-smoothing0.2") == {}
    assert differences("E-learned") == {"positions": "learned"}
    assert differences("big") == {"d_model": 1024, "d_ff": 4096, "num_heads": 16, "dropout": 0.3}


def test_the_base_model_is_that_of_the_paper() -> None:
    """Sections 3.1 to 3.3 and 5.4."""
    base = PRESETS["base"]
    assert (base.num_encoder_layers, base.num_decoder_layers, base.num_heads) == (6, 6, 8)
    assert (base.d_model, base.d_ff, base.encoder_heads.d_k, base.encoder_heads.d_v) == (512, 2048, 64, 64)
    assert (base.dropout, base.norm, base.positions, base.activation) == (0.1, "post", "sinusoidal", "relu")


def test_head_widths_default_to_an_equal_share() -> None:
    assert config().encoder_heads == config().decoder_heads == (4, 8, 8)
    assert config(d_k=5).encoder_heads == (4, 5, 8)
    assert config(d_v=3).encoder_heads == (4, 8, 3)
    assert config(d_model=30, d_k=5, d_v=3).encoder_heads == (4, 5, 3)  # 30 need not be divisible by 4 then


def test_the_decoder_may_have_heads_of_its_own() -> None:
    two = config(num_decoder_heads=2)
    assert (two.encoder_heads, two.decoder_heads) == ((4, 8, 8), (2, 16, 16))
    assert config(num_decoder_heads=2, d_k=5).decoder_heads == (2, 5, 16)
    assert config(num_decoder_heads=3, d_k=5, d_v=3).decoder_heads == (3, 5, 3)
    assert (config().head_counts, config(num_decoder_heads=4).head_counts, two.head_counts) == ("4", "4", "4 + 2")


def test_is_frozen() -> None:
    with pytest.raises(FrozenInstanceError):
        config().d_model = 64  # type: ignore[misc]


@pytest.mark.parametrize("name", [*SIZES, *OPTIONAL_SIZES])
def test_sizes_are_positive_integers(name: str) -> None:
    for value in (0, -1, 8.0, "8", True, *([None] if name in SIZES else [])):
        assert_invalid(rf"^{name} \({value!r}\) must be a positive integer$", **{name: value})


@pytest.mark.parametrize(("name", "most"), MAX_SIZES.items())
def test_sizes_have_a_bound(name: str, most: int) -> None:
    for value in (most + 1, 2**64, 10**400, 10**5000):
        assert_invalid(rf"^{name} \({shown(value)}\) must be at most {most}$", **{name: value})


def test_every_integer_of_the_configuration_has_a_bound() -> None:
    """Token ids are below vocab_size."""
    integers = {field.name for field in fields(TransformerConfig) if field.type in (int, int | None)}
    assert integers == {*MAX_SIZES, *IDS, "position_offset"} == {*SIZES, *OPTIONAL_SIZES, *IDS, "position_offset"}


def test_the_largest_configuration_has_shapes() -> None:
    """Shapes are computed without overflow and without memory, whatever they would take."""
    layers = {"num_encoder_layers": 1, "num_decoder_layers": 1}
    text = {"patch_size": None, "patch_rows": 1, "tied": "none"}
    images = {"target_vocab_size": None, "source_prefix": (), "patch_rows": 16}
    for kind in (text, images):
        largest = TransformerConfig(**{**MAX_SIZES, **layers, **kind}, positions="learned", output_bias=True)
        assert num_parameters(largest) > 2**37


def test_positions_heads_and_pictures_have_bounds() -> None:
    """Each head of a stack, in all its layers, has a weight for every pair of tokens."""
    assert config(position_offset=MAX_POSITION_OFFSET - 1)
    offset = rf"^position_offset \({MAX_POSITION_OFFSET}\) must be an integer from 0 to "
    assert_invalid(offset, position_offset=MAX_POSITION_OFFSET)
    for stack in ("encoder", "decoder"):
        heads, layers = {"num_heads": 128, "d_k": 1, "d_v": 1}, MAX_HEADS // 128
        assert config(**heads, **{f"num_{stack}_layers": layers})
        message = rf"^the {stack} has 33 layers of 128 heads, 4224 in all: at most {MAX_HEADS} "
        assert_invalid(message, **heads, **{f"num_{stack}_layers": layers + 1})
    assert config(patch_size=32, patch_rows=32)
    height = rf"^patch_size \* patch_rows \(32 \* 33\) must be at most {MAX_PICTURE_HEIGHT}: "
    assert_invalid(height, patch_size=32, patch_rows=33)


DROPOUT = r"must be a number from 0 up to, but not including, 1$"
SPECIAL = r"must be an integer from 0 to vocab_size - 1 \(99\)$"
SHARED = r"^d_model \(32\) must be divisible by {} \(5\), or give both d_k and d_v$"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        *(
            ({name: 5, **widths}, SHARED.format(name))
            for name in ("num_heads", "num_decoder_heads")
            for widths in ({}, {"d_k": 8}, {"d_v": 8})
        ),
        *(
            ({"dropout": value}, rf"^dropout \({value!r}\) {DROPOUT}")
            for value in (-0.1, 1, 1.0, float("nan"), float("inf"), "0.1", None, True)
        ),
        *(
            ({"norm_eps": value}, rf"^norm_eps \({value!r}\) must be a number above 0 and at most 1$")
            for value in (0.0, -1e-5, 1.5, float("nan"), 1, "1e-5", None)
        ),
        *(
            ({name: value}, rf"^{name} \({value!r}\) {SPECIAL}")
            for name in ("pad_id", "bos_id", "eos_id")
            for value in (-1, 100, 5.0, None, True)
        ),
        ({"pad_id": 2}, r"^pad_id \((\d)\) and eos_id \(\1\) must differ: every source ends"),
        ({"eos_id": 0}, r"^pad_id \((\d)\) and eos_id \(\1\) must differ: every source ends"),
        ({"d_model": 33, "num_heads": 3}, r"^d_model \(33\) must be even: sinusoidal positions come in pairs of sine"),
        ({"positions": "learned", "position_offset": 2}, r"^position_offset \(2\) must be 0 for learned positions: "),
        ({"position_offset": -1}, r"^position_offset \(-1\) must be an integer from 0 to \d+$"),
        *(
            (
                {"target_vocab_size": 90, "tied": tied},
                rf"^target_vocab_size \(90\) needs a .*: tied \('{tied}'\) must be 't",
            )
            for tied in ("all", "inputs")
        ),
        ({"patch_rows": 2}, r"^patch_rows \(2\) needs patch_size: without it the source is tokens$"),
        ({"patch_size": 4, "tied": "target"}, r"^tied \('target'\) must be 'all' with a patch_size \(4\): the source"),
        ({"patch_size": 4, "source_prefix": (5,)}, r"^source_prefix \(\(5,\)\) must be empty with a patch_size \(4\)"),
        ({"patch_size": 4, "source_suffix": (5,)}, r"^source_suffix \(\(5,\)\) must be empty with a patch_size \(4\)"),
        ({"mask_id": 100}, r"^mask_id \(100\) must be an integer from 0 to vocab_size - 1 \(99\)$"),
        ({"mask_id": 2}, r"^mask_id \(2\) and eos_id must differ: give an id that no text contains$"),
        ({"mask_id": 3, "neighbourhood": 4}, r"^neighbourhood \(4\) must be None with a mask_id \(3\): models without"),
        ({"mask_id": 3, "patch_size": 4}, r"^patch_size \(4\) must be None with a mask_id \(3\): models with"),
        ({"mask_id": 3, "forced_first_id": 5}, r"^forced_first_id \(5\) must be None with a mask_id \(3\): models"),
    ],
)
def test_values_that_do_not_fit_are_refused(changes: dict[str, Any], message: str) -> None:
    assert_invalid(message, **changes)


def test_what_other_projects_have_is_valid() -> None:
    """Marian starts with padding, fairseq with `</s>`; learned positions come in no pairs."""
    assert config(pad_id=1)
    assert config(bos_id=2)
    assert config(d_model=33, num_heads=3, positions="learned").d_model == 33


@pytest.mark.parametrize(("name", "choices"), CHOICES.items())
def test_choices_are_named(name: str, choices: Any) -> None:
    first, *rest = map(repr, get_args(choices))
    for value in ("other", None, True, ["post"]):
        assert_invalid(rf"^{name} \(.*\) must be {first}.* or {re.escape(rest[-1])}$", **{name: value})


@pytest.mark.parametrize("name", SWITCHES)
def test_switches_are_booleans(name: str) -> None:
    for value in (None, 1, "yes"):
        assert_invalid(rf"^{name} \({value!r}\) must be True or False$", **{name: value})


def test_ids_are_of_their_side() -> None:
    two = {"target_vocab_size": 120, "tied": "target"}
    assert config(**two, bos_id=119, forced_first_id=110, never_ids=[119]).never_ids == (119,)
    for name in ("pad_id", "eos_id"):  # of both sides
        assert_invalid(rf"^{name} \(110\) must be an integer from 0 to vocab_size - 1 \(99\)$", **two, **{name: 110})
    for name in ("source_prefix", "source_suffix"):
        assert_invalid(
            rf"^{name} \(110\) must be an integer from 0 to vocab_size - 1 \(99\)$", **two, **{name: (5, 110)}
        )
    for changes in ({"bos_id": 120}, {"forced_first_id": 120}, {"never_ids": (120,)}):
        assert_invalid(r" \(120\) must be an integer from 0 to target_vocab_size - 1 \(119\)$", **two, **changes)


@pytest.mark.parametrize("value", [None, 5, "ab", {5: 6}, [0] * 2000])
@pytest.mark.parametrize("name", ID_LISTS)
def test_lists_of_ids_are_short_lists(name: str, value: object) -> None:
    assert_invalid(rf"^{name} \(.*\) must be a tuple of at most 1024 token ids$", **{name: value})


def test_presets_have_the_papers_architecture() -> None:
    defaults = config()
    others = {
        name: [field for field in ARCHITECTURE if getattr(preset, field) != getattr(defaults, field)]
        for name, preset in PRESETS.items()
    }
    assert {name: fields for name, fields in others.items() if fields} == {
        "lines": ["patch_size"],
        "en-de-mask-predict": ["mask_id"],
    }
