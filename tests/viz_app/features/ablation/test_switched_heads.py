"""Each head off alone, measured over several runs of the page."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from core.analysis.heads.ablation import GateEffect
from core.analysis.heads.head import Head
from viz_app.features.ablation.switched_heads import Measurement

HEADS = [Head("cross", 0, head) for head in range(20)]


def slowly() -> Iterator[tuple[Head, GateEffect]]:
    for head in HEADS:
        time.sleep(0.002)
        yield head, GateEffect((-1.0,), (-0.5 * head.head,))


def test_two_runs_of_the_page_at_once_measure_each_head_once() -> None:
    """One that was interrupted is still at its last head while the next one asks for more."""
    measured = Measurement("a hypothesis", HEADS, slowly(), running=True)
    with ThreadPoolExecutor(2) as runs:
        for run in [runs.submit(lambda: [measured.advance() for _ in HEADS]) for _ in range(2)]:
            run.result()
    assert measured.found == {head: -0.5 * head.head for head in HEADS}
