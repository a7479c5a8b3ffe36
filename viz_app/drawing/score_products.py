"""The query-key products behind an attention weight, as bars and as a table."""

from typing import TYPE_CHECKING

import plotly.graph_objects as go

from core.analysis.token_path.score_products import ScoreProducts
from viz_app.drawing.display_text import decimal
from viz_app.drawing.plotly_chart import bare_axis, empty_figure, with_layout
from viz_app.drawing.theme import SMALL, Theme
from viz_app.language import tr

if TYPE_CHECKING:
    pass


def products_figure(products: ScoreProducts, theme: Theme, height: int = 190) -> go.Figure:
    """Draw a bar for each dimension; all sum to the score.

    A bar is the dimension's product, divided by the square root of d_k. A model with relative positions has one more,
    for the distance, apart from them at the right.
    """
    figure = empty_figure(theme, height, (48, 8, 8, 36))
    with_layout(figure, barmode="relative", bargap=0.25)
    rows = list(
        enumerate(zip(products.query.tolist(), products.key.tolist(), products.products.tolist(), strict=True), 1)
    )
    dimension = tr("dimension {number}", number="%{x}")
    for color, sign in ((theme.diverging[0], -1), (theme.diverging[-1], 1)):
        drawn = [(number, *numbers) for number, numbers in rows if numbers[-1] * sign > 0]
        figure.add_bar(
            x=[row[0] for row in drawn],
            y=[row[-1] for row in drawn],
            marker={"color": color, "line": {"width": 0}},
            customdata=[[decimal(each, 3, sign=True) for each in row[1:]] for row in drawn],
            hovertemplate=f"{dimension}: %{{customdata[0]}} \u00d7 %{{customdata[1]}} / \u221a{len(rows)} = "
            "<b>%{customdata[2]}</b><extra></extra>",
        )
    end = len(rows)
    if products.relative is not None:
        end += 2
        figure.add_bar(
            x=[end],
            y=[products.relative],
            marker={"color": theme.faint, "line": {"width": 0}},
            hovertemplate=f"{tr('distance')} = <b>{decimal(products.relative, 3, sign=True)}</b><extra></extra>",
        )
    font = {"size": SMALL, "color": theme.faint}
    ticks = {"showticklabels": True, "tickfont": {**font, "size": SMALL, "family": theme.monospace_font}}
    span = [0.25, end + 0.75]
    with_layout(
        figure,
        xaxis=bare_axis(**ticks, title={"text": tr("dimension"), "font": font}, range=span),
        yaxis=bare_axis(**ticks, title={"text": tr("product"), "font": font}),
    )
    figure.add_hline(y=0, line={"color": theme.hairline, "width": 1})
    return figure
