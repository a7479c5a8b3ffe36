"""The analyses of an explained sentence that have a panel below the heads, in their order."""

from core.analysis.declaration import Analysis
from core.analysis.heads.attention_distance import distance
from core.analysis.heads.row_entropy import row_entropy

PANELS: tuple[Analysis, ...] = (distance, row_entropy)
