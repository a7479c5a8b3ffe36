"""The fields of the address: every setting that decides a view, with its codec and default.

Their values are identifiers, the same in every language. `fields.py` reads and writes them. `former_labels.json` has
the labels of options, which addresses had before.
"""

from typing import Any

from viz_app.language import IN_ADDRESS, LANGUAGES, marked
from viz_app.session.address_codecs import COUNTED, HEAD, INTEGER, NUMBER, SWITCH, TEXT, choice, dotted, several
from viz_app.session.fields import Field

FIRST_EXAMPLE = "The man is feeding the horse because it is too old."
KINDS = ("encoder_self", "decoder_self", "cross")


def _one_of(name: str, **values: str) -> Field[Any]:
    """Return a field with one of a few values, which are texts, by their identifiers; the first is the default."""
    return Field(name, choice(values), next(iter(values.values())))


def _same(name: str, *values: str) -> Field[Any]:
    """Return a field with one of a few values that are identifiers themselves; the first is the default."""
    return _one_of(name, **dict(zip(values, values, strict=True)))


def _text(name: str, default: str | None = None, *, is_preset: bool = False) -> Field[Any]:
    """Return a field for identifiers or the visitor's texts; without a default, the widget's first option."""
    return Field(name, TEXT, default, is_preset)


# the frame of every page
LANGUAGE = Field(IN_ADDRESS, choice({code: code for code in LANGUAGES}), in_frame=True)
CHECKPOINT = Field("checkpoint", TEXT, "", in_frame=True)  # name of a shipped one, if it is not the first
UPLOADED = Field("uploaded", TEXT, "", in_frame=True)  # of a file that was opened: digits of its digest, and its name
SENTENCE = Field("text", TEXT, FIRST_EXAMPLE, in_frame=True)
BEAM_SIZE = Field("beam_size", INTEGER, 4, in_frame=True)
LENGTH_PENALTY = Field("length_penalty", NUMBER, 0.6, in_frame=True)
NUM_HYPOTHESES = Field("hypotheses", INTEGER, 4, in_frame=True)
MIN_LENGTH = Field("min_length", INTEGER, 0, in_frame=True)
HYPOTHESIS = Field("hypothesis", TEXT, "", in_frame=True)  # counted from 1
PREFIX = Field("prefix", TEXT, "", in_frame=True)  # token ids that the translation is forced to begin with
FORBIDDEN = Field("forbidden", TEXT, "", in_frame=True)  # position, counted from 1, and token id of each
TARGET = Field("target", TEXT, "", in_frame=True)  # token ids of a forced translation
FORCED_MODEL = Field("model", TEXT, "", in_frame=True)  # digits of the digest of the model that they are of
WORD = Field("word", several(TEXT), [], in_frame=True)  # selected words, such as source.3
SLIDE = _text("slide", "")

# several pages
KIND = _text("kind", "cross")
WEIGHTS = _text("weights", "attention")
WHOLE_WORDS = Field("words", SWITCH, True)
HIDE_SPECIAL = Field("hide_special", SWITCH, True)
TOKEN: Field[int] = Field("token", COUNTED, is_preset=True)
PRODUCTS = _text("products", "")
SELECTION = _text("selection", "")

# Translate
PIECES = Field("pieces", INTEGER, 0)  # 1: alternatives are shown for tokens instead of words
SAMPLES, NUM_SAMPLES = Field("samples", SWITCH, False), Field("num_samples", INTEGER, 8)
TEMPERATURE, TOP_K = Field("temperature", NUMBER, 1.0), Field("top_k", INTEGER, 0)
TOP_P, MIN_P = Field("top_p", NUMBER, 1.0), Field("min_p", NUMBER, 0.0)
SAMPLE_SEED = Field("sample_seed", INTEGER, 0)

# Score a file
LISTED = _same("listed", "words", "sentences")
SORTED_BY = _text("sorted_by", "most")  # or the sign of the sentences that are shown

# Heads
VIEW = _one_of("view", lines=marked("Lines"), map=marked("Map"), table=marked("Table"), bertviz="BertViz")
HEADS: dict[str, Field[list[str]]] = {kind: Field(f"heads_{kind}", several(TEXT), is_preset=True) for kind in KINDS}
LAYERS: dict[str, Field[list[str]]] = {kind: Field(f"layers_{kind}", several(TEXT), is_preset=True) for kind in KINDS}
SORT = _text("sort")
LABELS: Field[list[Any]] = Field("labels", several(TEXT), [])
COMPARE = Field("compare", SWITCH, False)
MASS = Field("mass", NUMBER, 1.0)
STEP = Field("step", INTEGER, 0)
PART = _text("part", "")  # of Figure 1, whose code is shown
PLAY = _text("play", "")  # a stop of Figure 1, played
OUTPUT = _same("output", "whole", "selected")
JUDGED_BY = _one_of("judged_by", sentence=marked("Sentence"), sample=marked("Sample"))
SCORED_SAMPLE = _text("scored_sample", "")
CUTTING = Field("cutting", SWITCH, False)
CUT = Field("cut", several(TEXT), [])
JOINT_LAYER, JOINT_HEAD = _text("joint_layer"), _text("joint_head")
JOINT_VIEW = _one_of("joint_view", map=marked("Map"), table=marked("Table"))
BERTVIZ_VIEW = _one_of("bertviz_view", head=marked("Head view"), model=marked("Model view"))

# Alignment
METHOD = _text("method", "attention")
ALIGNER = _text("aligner", is_preset=True)
ROWS = _same("rows", "predicted", "fed")
LINKS = _text("links", "")
NUMBERS_OF = _one_of("numbers_of", target=marked("Target words"), source=marked("Source words"))

# Compare
AGAINST = _one_of("against", hypothesis="Hypothesis", sentence="Sentence", checkpoint="Checkpoint")
SECOND_HYPOTHESIS = _text("second", is_preset=True)  # counted from 1
SECOND_TEXT = _text("second_text", is_preset=True)
SAME_TARGET = Field("same_target", SWITCH, True)
COMPARE_WEIGHTS = _text("compare_weights", "attention")
COMPARE_VIEW = Field("compare_view", choice({"lines": marked("Lines"), "map": marked("Map")}), "Map")
COMPARE_HEADS = {kind: _text(f"compare_head_{kind}", is_preset=True) for kind in KINDS}
COMPARE_LAYERS = {kind: _text(f"compare_layer_{kind}", is_preset=True) for kind in KINDS}
# of the second side; by default those of the first side
SECOND_HEADS = {kind: _text(f"second_head_{kind}", "same") for kind in KINDS}
SECOND_LAYERS = {kind: _text(f"second_layer_{kind}", "same") for kind in KINDS}
NEAREST = Field("nearest", SWITCH, False)

# Corpus
CORPUS_VIEW = _one_of("corpus_view", heads=marked("Heads"), scatter=marked("Two measures"), neurons=marked("Neurons"))
CORPUS_PART = _one_of(
    "corpus_part", examples=marked("Examples"), everywhere=marked("All sentences"), tokens=marked("Tokens")
)
CORPUS_DECILE = _text("corpus_decile", "top")  # from 1, the weakest tenth, to 10; top: the strongest of all sentences
CORPUS_DIAGONAL = Field("corpus_diagonal", SWITCH, False)
CORPUS_TOKENS_BY = _text("corpus_tokens_by", "weight")
CORPUS_X, CORPUS_Y = _text("corpus_x", "one"), _text("corpus_y", "strength")
CORPUS_INDEX = _text("corpus_index", "")
CORPUS_HEAD, CORPUS_NEURON = Field("corpus_head", HEAD), _text("corpus_neuron", "")
CORPUS_RANGE = Field("corpus_range", several(TEXT), [])
BEHAVIOUR, CORPUS_KIND, CORPUS_PLACE = _text("behaviour"), _text("corpus_kind"), _text("corpus_place", is_preset=True)
CORPUS_LAYER = _text("corpus_layer")
CORPUS_STACK, NEURON_LAYER, NEURON_SORT = _text("corpus_stack", "encoder"), _text("neuron_layer"), _text("neuron_sort")
NEURON_TOKEN = _text("neuron_token", "")

# Beam, Generation, Switches
BEAM_VIEW = _one_of("beam_view", words=marked("Words"), tree=marked("Pieces"), table=marked("Table"))
DRAFT_TOKENS, ITERATIONS = Field("draft_tokens", INTEGER, 4), Field("iterations", INTEGER, 10)
LENGTH_CANDIDATES = Field("length_candidates", INTEGER, 5)
GENERATION_STEP, GENERATION_HEAD = Field("generation_step", INTEGER), _text("generation_head")
GENERATION_KIND = _text("generation_kind", "decoder_self")
GATE, SWITCHED = Field("gate", NUMBER, 0.0), _text("switched", "")

# What heads write, Why A rather than B, Layer by layer, Why a head looks there
TERM, MINUS = Field("term", HEAD), _text("against")
RATHER_THAN = _text("rather_than")
CONTRAST_METHODS: Field[list[Any]] = Field("contrast_methods", several(TEXT))
FAITHFUL_SAMPLE = _text("faithful_sample", "")
CELL, ENCODER_LEVEL = Field("cell", dotted(1, 0)), Field("encoder_level", INTEGER)  # predicted token and level
ATTENDING_HEAD, INSTEAD_OF = _text("attending_head", is_preset=True), _text("instead_of", "mean")
ATTENDING: Field[int] = Field("attending", COUNTED, is_preset=True)
ATTENDED: Field[int] = Field("attended", COUNTED, is_preset=True)
OPENED_TERMS: Field[list[str]] = Field("opened_terms", several(TEXT), [])

# Patching, Head to head
CORRUPTED, CONTROL = _text("corrupted", is_preset=True), _text("control", "")
PATCHED_TOKEN: Field[int] = Field("patched_token", COUNTED, is_preset=True)
PATCHED_AGAINST, PATCH_METRIC = _text("patched_against"), _text("patch_metric", "difference")
PATCH_INTO, PATCH_MEAN = _text("patch_into", "corrupted"), Field("patch_mean", SWITCH, False)
PATCH_VIEW = _one_of("patch_view", components=marked("Components"), paths=marked("Paths between heads"))
PATCH, SENDER = Field("patch", dotted(None, 1, 1)), Field("sender", dotted(None, 1, 1))
RECEIVER_KIND, RECEIVER_INPUT = _text("receiver_kind", "cross"), _text("receiver_input", "value")
RECEIVERS = {kind: _text(f"receiver_{kind}", is_preset=True) for kind in KINDS}
HOLD_NETWORKS = Field("hold_networks", SWITCH, False)
PATHS_AGAINST, PATHS_METRIC = _text("paths_against"), _text("paths_metric", "difference")
PATHS_BY, PATHS_SECOND = _text("paths_by", "mean"), _text("paths_second", is_preset=True)
PATHS_DRAWN, PATH = Field("paths_drawn", INTEGER, 30), _text("path", "")

# Step by step
STACK, FOLLOWED = _text("stack", "decoder"), _text("followed", is_preset=True)
STEP_LAYER, STEP_HEAD = _text("step_layer", is_preset=True), _text("step_head", is_preset=True)
AT, PICKED = _text("at", ""), _text("picked", "")
REFERENCE, REFERENCE_TOKEN = _text("reference", ""), Field("reference_token", COUNTED, 0)
SCHEDULE_STEP = Field("schedule_step", INTEGER, 100)
TRAINED_WEIGHT, WEIGHT_INDEX = _text("trained_weight", ""), _text("weight_index", "")

# Positions
POSITIONS_VIEW = _one_of(
    "positions_view",
    encoding=marked("Encoding"),
    sinusoids=marked("Sinusoids"),
    similarity=marked("Similarity"),
    learned=marked("Learned"),
    rotation=marked("Rotation"),
    extrapolation=marked("Extrapolation"),
    first_layer=marked("First layer"),
)
POSITIONS_TABLE, NUM_POSITIONS = Field("positions_table", SWITCH, False), Field("num_positions", INTEGER, 64)
WHOSE = _one_of("whose", model=marked("This model"), paper=marked("The paper"))
DIMENSIONS: Field[list[int]] = Field("dimensions", several(INTEGER))
MEASURE, SCORE_KIND, SCORE_HEAD = _text("measure", "dot"), _text("score_kind", "encoder_self"), _text("score_head")
POSITION, OFFSET = Field("position", INTEGER, 3), Field("offset", INTEGER, 5)

# Figures of the paper
FIGURE = _one_of("figure", **{"3": "Figure 3", "4": "Figure 4", "5": "Figure 5"}, selection="Selection on Heads")
PAPER_VIEW = _one_of("paper_view", picture=marked("Picture"), table=marked("Table"))
PAPER_LAYER = _text("paper_layer", is_preset=True)
PAPER_TEXTS = {number: _text(f"paper_text_{number}") for number in "345"}
PAPER_WORDS = {number: _text(f"paper_word_{number}") for number in "345"}
PAPER_HEADS: dict[str, Field[list[str]]] = {
    number: Field(f"paper_heads_{number}", several(TEXT), is_preset=True) for number in "345"
}

# Table 1
WHY_VIEW = _one_of(
    "why_view",
    time=marked("Time"),
    operations=marked("Multiplications"),
    memory=marked("Memory"),
    sequential=marked("Sequential steps"),
    path=marked("Path length"),
)
ALONG = _same("along", "n", "d")
WHY_TABLE = Field("why_table", SWITCH, False)
WHY_N, WHY_D = Field("why_n", INTEGER, 64), Field("why_d", INTEGER, 512)
WHY_K, WHY_R = Field("why_k", INTEGER, 3), Field("why_r", INTEGER, 8)
WHY_DILATED = Field("why_dilated", SWITCH, True)
MEASURED = _text("measured", "")

# Table 3
TABLE_3_VIEW = _one_of("table_3_view", table=marked("Table"), perplexity=marked("Perplexity"), bleu="BLEU")

# Build one
LAB_TASK, LAB_PART = _same("lab_task", "reverse", "copy", "sort", "dates", "own"), _text("lab_part", "paper")
LAB_SIZE, LAB_UNIT = _same("lab_size", "two", "one", "six", "paper", "wide"), _same("lab_unit", "words", "characters")
LAB_STEPS, LAB_SEED, LAB_HEAD = Field("lab_steps", INTEGER, 600), Field("lab_seed", INTEGER, 1), Field("lab_head", HEAD)

# Section by section, and Exercises
SECTION = _text("section", "")
EXERCISE = _same("exercise", "previous", "mask", "positions", "negation", "beam", "part")
EXERCISE_ANSWER, EXERCISE_CHECKED = _text("exercise_answer", ""), _text("exercise_checked", "")
EXERCISES_SOLVED: Field[list[str]] = Field("exercises_solved", several(TEXT), [])

# Training, Over training
TRAINING_VIEW = _one_of(
    "training_view",
    curves=marked("Curves"),
    rate=marked("Learning rate"),
    samples=marked("Samples"),
    card=marked("Card"),
)
RUN_FOLDER, RUN = _text("run_folder", ""), _text("run")
TRAINING_MEASURE, SAMPLE = _text("training_measure"), _text("sample")
HISTORY = _text("history", "")
TRAINED_VIEW = _one_of(
    "trained_view",
    roles=marked("Roles"),
    score=marked("Score"),
    layers=marked("Layers"),
    translations=marked("Translations"),
    loss=marked("Loss"),
)
TRAINED_ON = _one_of("trained_on", sample=marked("Sample"), sentence=marked("Sentence"))
TRAINED_SCORE, TRAINED_HEAD = _text("trained_score"), _text("trained_head", "")
TRAINED_STEPS = Field("trained_steps", INTEGER)

# Parsing, Read a picture
PARSING_VIEW, NODE = _one_of("parsing_view", tree=marked("Tree"), table=marked("Table")), Field("tree_node", INTEGER)
BRACKET_HALF = _one_of("bracket_half", opened=marked("Opened"), closed=marked("Closed"))
BRACKET_KIND, BRACKET_HEAD = _text("bracket_kind", "cross"), _text("bracket_head")
PICTURE_SOURCE = _one_of("picture_source", drawn=marked("Draw a text"), uploaded=marked("Upload a picture"))
PICTURE_TEXT, PICTURE_FONT = _text("picture_text", "Read me!"), _text("picture_font")
PICTURE_SIZE, PICTURE_NOISE = Field("picture_size", INTEGER, 16), Field("picture_noise", INTEGER, 0)
PICTURE_HEAD = _text("picture_head")
PICTURE_VIEW = _one_of("picture_view", pictures=marked("Pictures"), map=marked("Map"), table=marked("Table"))


def rate(name: str, first: float) -> Field[Any]:
    """Return the field of a setting of a run's learning rate schedule; `name` ends with the name of the run."""
    return Field(f"rate_{name}", {bool: SWITCH, int: INTEGER, float: NUMBER}[type(first)])
