"""Positions: the positional encodings that are added to the embeddings."""

from dataclasses import dataclass

import plotly.graph_objects as go
import streamlit as st

from core.analysis.pictures import Curves
from core.analysis.positions import (
    CHANGE,
    Measure,
    by_position,
    changing_waves,
    correlation_with_sinusoids,
    distance_columns,
    extrapolation_table,
    model_positions,
    position_similarity,
    rotation_columns,
    rotation_error,
    sinusoid_columns,
)
from core.analysis.recorded_call import Call
from core.model import sinusoidal_encoding
from viz_app.components.picture import picture as draw_picture
from viz_app.controls.charts import show_chart
from viz_app.controls.downloads import downloads
from viz_app.controls.tables import show_table
from viz_app.controls.widgets import page_theme, setting_segments
from viz_app.drawing.display_text import decimal, plain
from viz_app.language import marked, tr
from viz_app.session import address, python_code, readings
from viz_app.session.fields import page_address, part
from viz_app.session.models import Model
from viz_app.views.paper.positions.figures import positions
from viz_app.views.paper.positions.score_decomposition import (
    FIRST_LAYER,
    FIRST_LAYER_HELP,
    FIRST_LAYER_TEXT,
    first_layer,
    table_box,
)

ENCODING, SINUSOIDS, SIMILARITY, LEARNED, ROTATION, EXTRAPOLATION, _ = address.POSITIONS_VIEW.codec.values
_, PAPER = address.WHOSE.codec.values
TEXTS = {
    ENCODING: marked("a row for each position, a column for each dimension."),
    SINUSOIDS: marked("single dimensions over the positions, each a sine or cosine wave."),
    SIMILARITY: marked("how similar the encodings of any two positions are."),
    ROTATION: marked("the encoding of the position *k* further on is the same encoding, rotated."),
    LEARNED: marked("similarity of two positions by their distance, learned and sinusoidal."),
    EXTRAPOLATION: marked("exact answers to texts that are longer than any in training."),
    FIRST_LAYER: FIRST_LAYER_TEXT,
}
HOW_TO_READ = {
    ENCODING: marked("""
        The row of a position is added to the embedding of the token there (section 3.5). Dimensions come in pairs, a
        sine and a cosine of one wavelength: 2 pi positions at the left of each half, up to almost 10000 times as many
        for the last pair. So colours change from row to row at the left, and slowly at the right."""),
    SINUSOIDS: marked("""
        The dots are the values that the model gets, at whole positions; the curve between them is only a guide to the
        eye. Dimension 2i is a sine, 2i + 1 the cosine of the same wavelength."""),
    SIMILARITY: marked("""
        Along a diagonal nothing changes: the similarity of sinusoids depends on the distance between two positions,
        not on the positions. The dot product of a position with itself is the largest, d_model / 2; its cosine is 1,
        its distance 0. This shows how similar encodings are, not that a head uses it."""),
    ROTATION: marked("""
        Each pair of dimensions is a point on a circle, like the hand of a clock. From any position to the one k further
        on, it turns by the same angle, k times its frequency: PE(pos + k) is a linear function of PE(pos), a rotation
        of every pair. This is why the paper expected that the model could learn to attend by relative positions
        (section 3.5). It does not show that a head does."""),
    LEARNED: marked("""
        For sinusoids, the cosine is the same for all pairs of positions at a distance. For learned positions it
        varies: the line is the mean, the dotted lines are minimum and maximum. Positions that are rare in training stay
        near their initial values."""),
    EXTRAPOLATION: marked("""
        Section 3.5: sinusoids \u201cmay allow the model to extrapolate to sequence lengths longer than the ones
        encountered during training\u201d. Small models with either kind of positions learned to write letters in
        reverse order, from texts of 1 to 10 letters, and are asked for longer ones. A dot is one seed, the share of
        200 texts that it reverses without an error; the line is their mean. The rows of a learned table beyond its
        longest text keep their random initial values, and a position beyond its last row is refused. One task and one
        size of model: others may do better or worse."""),
    FIRST_LAYER: FIRST_LAYER_HELP,
}
NONE_LEARNED = marked(
    "The model has no learned positions; with [reverse-learned]({address}), the view {view} compares both kinds."
)
RELATIVE = marked(
    "The model adds none of these to its embeddings: the scores of its self-attention have a learned number for the "
    "distance of two tokens instead, which the view {view} shows."
)
SINUSOIDS_NOTE = marked("The paper's sinusoids at d_model {width}, that of {model}.")
CHANGING_NOTE = marked(
    "Drawn are the {drawn} of {all} dimensions that change by more than {change} over these positions, or whose pair "
    "does; the table has all."
)
OTHER_SINUSOIDS = marked(
    "The model's own have the order {order}, frequencies 10000^-({exponent}), and begin at position {offset}."
)
ROTATION_NOTE = marked(
    "Checked now, for all {dimensions} dimensions and positions 0 to 255: PE(pos) rotated by k = {offset} differs from "
    "PE(pos + {offset}) by at most {error:.1g}. These are the paper's sinusoids; learned positions have no such rule."
)
LEARNED_NOTE = marked(
    "Rank correlation of learned with sinusoidal cosines over all pairs of {count} positions: {correlation}. Mean "
    "length of a learned position: {learned:.2f}; of a sinusoidal one: {sinusoidal:.2f}."
)
EXTRAPOLATION_NOTE = marked(
    "Of texts of {trained} letters, the longest in training, sinusoids reverse {sinusoidal_trained:.0%} and learned "
    "positions {learned_trained:.0%}; with one letter more {sinusoidal_next:.0%} and {learned_next:.0%}, with two or "
    "more at most {most:.0%}. So neither kind extrapolates here: sinusoids are defined for every position, but what a "
    "model has learned to do with them ends where its training did."
)
CIRCLES = (0, 1 / 8, 1 / 4, 1 / 2)  # the pairs of dimensions that are drawn, as fractions of all


@dataclass(frozen=True)
class PositionsPicture:
    """A picture, the call of the table of its numbers, and a note."""

    figure: go.Figure | Curves
    call: Call
    note: str


@part
def encodings() -> None:
    """Draw the page below the sentence; a click in it runs only this part again."""
    learned = readings.model().translator.model.config.positions == "learned"
    views = (ENCODING, SINUSOIDS, SIMILARITY, *((LEARNED,) if learned else ()), ROTATION, EXTRAPOLATION, FIRST_LAYER)
    bar = st.container(horizontal=True, vertical_alignment="bottom", gap="medium")
    with bar:
        view = setting_segments(address.POSITIONS_VIEW, tr("View"), views, hide_label=True)
    title = st.empty()
    about = tr("**{name}**: {text}", name=tr(view), text=tr(TEXTS[view]))
    title.markdown(about, help=" ".join(tr(HOW_TO_READ[view]).split()))
    if view == FIRST_LAYER:
        first_layer(bar, page_theme())
        return
    with bar:
        picture = PICTURES[view]()
        as_table = table_box()
    if as_table:
        show_table(picture.call.run())
    elif isinstance(picture.figure, Curves):
        draw_picture(picture.figure, f"positions_{view}")
    else:
        show_chart(picture.figure, f"positions_{view}", tr(TEXTS[view]))
    st.caption(picture.note)
    downloads(
        f"positions-{view.lower()}",
        None if as_table else f"positions_{view}",
        picture.call,
        title=tr(
            "Positional encoding: {text} ({model})",
            text=tr(TEXTS[view]).rstrip(".\u3002").replace("*", ""),
            model=readings.model().name,
        ),
        of_sentence=False,
    )


def width() -> int:
    """Return d_model, less one if it is odd, since sines and cosines come in pairs."""
    d_model = readings.model().translator.model.config.d_model
    return d_model - d_model % 2


def count_box() -> int:
    """Select the number of positions to draw."""
    return address.NUM_POSITIONS.draw(st.slider, tr("Positions"), 8, 256, step=8, width=190)


def encodings_to_draw() -> tuple[Call, str]:
    """Return the encodings to draw, as the call that computes them, and a note.

    For a model with learned positions, they are either those or the paper's.
    """
    model, count = readings.model(), count_box()
    config = model.translator.model.config
    sinusoids = tr(SINUSOIDS_NOTE, width=width(), model=plain(model.name))
    if (config.position_order, config.position_exponent, config.position_offset) != ("interleaved", "i/n", 0):
        own = tr(
            OTHER_SINUSOIDS,
            order=config.position_order,
            exponent=config.position_exponent,
            offset=config.position_offset,
        )
        sinusoids = f"{sinusoids} {own}"
    paper = Call("encodings", sinusoidal_encoding, (count, width()))
    if config.positions != "learned":
        is_relative = config.relative
        settings = {"checkpoint": "reverse-learned", "text": "h e a d", "positions_view": "learned"}
        link = page_address("positions", {**settings, "num_positions": "8"})
        note = tr(RELATIVE, view=tr(FIRST_LAYER)) if is_relative else tr(NONE_LEARNED, address=link, view=tr(LEARNED))
        return paper, f"{sinusoids} {note}"
    if setting_segments(address.WHOSE, tr("Positions of")) == PAPER:
        return paper, f"{sinusoids} {tr('The model has learned positions instead.')}"
    encodings = learned_call(model, count)
    note = tr(
        "The positions learned by {model}: {count}, of which {drawn} are drawn.",
        model=plain(model.name),
        count=config.max_positions,
        drawn=len(encodings.run()),
    )
    return encodings, note


def learned_call(model: Model, count: int) -> Call:
    """Return the call that computes the learned positions."""
    transformer = Call("model", ".model", (python_code.translator(model),))
    return Call("encodings", model_positions, (transformer, count))


def encoding() -> PositionsPicture:
    """Draw all dimensions of all positions, or of sinusoids those that change."""
    encodings, note = encodings_to_draw()
    table, values = Call("table", by_position, (encodings,)), encodings.run()
    waves = changing_waves(values) if encodings.function is sinusoidal_encoding else []
    if 0 < len(waves) < width():
        note = f"{tr(CHANGING_NOTE, drawn=len(waves), all=width(), change=CHANGE)} {note}"
    return PositionsPicture(positions.encoding_heatmap(values, page_theme(), waves), table, note)


def sinusoids() -> PositionsPicture:
    """Draw a few dimensions as waves."""
    count, d_model = count_box(), width()  # not in the table: it is made in another thread, which has no session
    first = [dimension for dimension in (0, 16, 32, 64) if dimension < d_model]
    dimensions = address.DIMENSIONS.draw(
        st.multiselect,
        tr("Dimensions"),
        range(d_model),
        default=first,
        max_selections=8,
        select_all=False,
        placeholder=tr("Select"),
    )
    figure = positions.sinusoids(dimensions, count, d_model)
    return PositionsPicture(
        figure,
        Call("table", sinusoid_columns, (list(dimensions), count, d_model)),
        tr("The paper's sinusoids at d_model {width}.", width=d_model),
    )


def similarity() -> PositionsPicture:
    """Draw the similarity of all pairs of positions."""
    encodings, note = encodings_to_draw()
    names: dict[Measure, str] = {"dot": tr("Dot product"), "cosine": tr("Cosine"), "distance": tr("Distance")}
    measure = setting_segments(address.MEASURE, tr("Measure"), names)
    figure = positions.position_similarity(encodings.run(), page_theme(), measure)
    found = Call("similarity", position_similarity, (encodings, measure))
    return PositionsPicture(figure, Call("table", by_position, (found,)), note)


def rotation() -> PositionsPicture:
    """Draw a position and the one k further on as points on circles."""
    position = address.POSITION.draw(st.slider, tr("Position"), 0, 128, width=220)
    offset = address.OFFSET.draw(st.slider, "k", 0, 64, width=220)
    d_model = width()
    pairs = list(dict.fromkeys(int(share * d_model // 2) for share in CIRCLES))
    figure = positions.rotation_circles(pairs, position, offset, d_model, page_theme())
    error = rotation_error(256, d_model, offset)
    return PositionsPicture(
        figure,
        Call("table", rotation_columns, (position, offset, d_model)),
        tr(ROTATION_NOTE, dimensions=d_model, offset=offset, error=error),
    )


def learned_against_sinusoidal() -> PositionsPicture:
    """Compare the learned positions of a model with sinusoids."""
    model, count = readings.model(), count_box()
    recorded = learned_call(model, count)
    learned = recorded.run()
    note = tr(
        LEARNED_NOTE,
        count=len(learned),
        correlation=decimal(correlation_with_sinusoids(learned), 2),
        learned=float(learned.norm(dim=1).mean()),
        sinusoidal=(width() / 2) ** 0.5,
    )
    return PositionsPicture(
        positions.by_distance(learned), Call("table", distance_columns, (recorded.returning(learned),)), note
    )


def extrapolation() -> PositionsPicture:
    """Draw the answers of small models to texts that are longer than any in training."""
    call = Call("table", extrapolation_table)
    table = call.run()
    shares = table.pivot_table("exact", "letters", "preset")  # means of seeds
    trained = int(table.loc[table["in_training"], "letters"].max())
    note = tr(
        EXTRAPOLATION_NOTE,
        trained=trained,
        sinusoidal_trained=shares.loc[trained, "reverse"],
        learned_trained=shares.loc[trained, "reverse-learned"],
        sinusoidal_next=shares.loc[trained + 1, "reverse"],
        learned_next=shares.loc[trained + 1, "reverse-learned"],
        most=shares.loc[trained + 2 :, [*positions.KINDS]].max(axis=None),
    )
    return PositionsPicture(positions.extrapolation(table), call, note)


PICTURES = {
    ENCODING: encoding,
    SINUSOIDS: sinusoids,
    SIMILARITY: similarity,
    ROTATION: rotation,
    LEARNED: learned_against_sinusoidal,
    EXTRAPOLATION: extrapolation,
}
encodings()
