"""The survey of edges of the page Head to head, which grows step by step, and the question it answers."""

import re
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import get_args

import streamlit as st

from core.analysis.composition.edge_effects import EdgeFlow, edge_flow, exact_effects
from core.analysis.composition.edges import INPUTS, Edge, Input, Node, NodePart, sender_side
from core.analysis.composition.replacement import ReplacedBy, Replacement, record_replacement
from core.analysis.composition.survey import Survey, num_steps, survey, survey_steps
from core.analysis.interventions.minimal_pairs import first_proposal
from core.analysis.interventions.pair_runs import Metric
from core.analysis.recorded_call import Call
from viz_app.controls.predicted_token import alternative_box, alternatives, metric_box, token_box
from viz_app.controls.widgets import setting_segments
from viz_app.language import marked, tr, tr_values
from viz_app.session import address, python_code
from viz_app.session.chosen_heads import select_head
from viz_app.session.jobs import SHORT, Job, JobSlot
from viz_app.session.readings import Reading
from viz_app.session.state import Widget, session_object
from viz_app.views.experiments.patching.second_sentence import proposals

MEASURED = 200  # edges that are measured exactly
AGAINST = address.PATHS_AGAINST
SECOND = address.PATHS_SECOND
BEST = marked("best other token")
BY_NAMES: dict[ReplacedBy, str] = {
    "mean": marked("Its mean"),
    "zero": marked("Zero"),
    "sentence": marked("A second sentence"),
}
ABOUT_BY = marked("""
The output of a sender is replaced on one path alone. **Its mean** over the positions of this sentence removes what
differs between tokens. **Zero** also removes what is the same for all, further from anything the model has seen. **A
second sentence** of equal length in tokens shows which paths carry the difference between both.
""")


@dataclass(frozen=True)
class EdgeQuestion:
    """The token to explain, and the settings of the survey."""

    position: int  # of the predicted token A
    against: int | None  # id of B, None for the most probable other token
    by: ReplacedBy
    second: str | None  # the second sentence, None unless outputs are replaced by its outputs
    metric: Metric


@dataclass
class QuestionSurvey:
    """The survey of one question, with effects by sender position, and flows, of the edges that were looked at."""

    question: EdgeQuestion
    run: Replacement
    found: Survey
    job: Job
    positions: dict[Edge, list[float]] = field(default_factory=dict[Edge, list[float]])
    flows: dict[Edge, EdgeFlow] = field(default_factory=dict[Edge, EdgeFlow])
    check: tuple[Edge, float] | None = None

    def by_position(self, edge: Edge) -> list[float]:
        """Return the effect of the sender's output at each position through an edge."""
        if edge not in self.positions:
            count = self.run.runs.entered[sender_side(edge.sender)].size(1)
            self.positions[edge] = exact_effects(self.run, [(edge, position) for position in range(count)]).tolist()
        return self.positions[edge]

    def flow(self, edge: Edge) -> EdgeFlow:
        """Return the attention of an edge's receiver before and after."""
        if edge not in self.flows:
            self.flows[edge] = edge_flow(self.run, edge)
        return self.flows[edge]

    def checked(self) -> tuple[Edge, float] | None:
        """Return an edge that was repeated with hooks, and its gap in nats; None until one is known.

        Raises:
            DisagreementError: as `Survey.checked_edge`.
        """
        self.check = self.check or self.found.checked_edge(self.run)
        return self.check


class SurveySlot(JobSlot[QuestionSurvey]):
    """The session's survey."""


def question_boxes(about: Reading) -> tuple[EdgeQuestion, int]:
    """Select the token, the token to compare it with, the replacement of outputs, and how many edges are drawn."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        position = token_box(about)
        pieces = alternatives(about, position)
        chosen = BEST
        if AGAINST.value not in (None, BEST):
            AGAINST.preset_for((about.identity, position), lambda: BEST)
        if pieces:
            about_b = tr("B: the effect of an edge is on the logit of the predicted token A minus that of B.")
            chosen = alternative_box(about, position, AGAINST, tr("minus"), (BEST,), BEST, about_b)
        with st.popover(tr("More")):
            metric = metric_box(address.PATHS_METRIC)
            by: ReplacedBy = setting_segments(
                address.PATHS_BY, tr("Replace what a sender sends by"), tr_values(BY_NAMES), help=tr(ABOUT_BY)
            )
            count = address.PATHS_DRAWN.draw(st.slider, tr("Edges to draw"), 5, 100, step=5, width=260)
    second = None
    if by == "sentence":
        source = about.translation.source
        SECOND.preset_for((about.model.digest, source), lambda: first_proposal(proposals(about.model, source)))
        second = SECOND.draw(st.text_input, tr("Second sentence, of equal length in tokens"), width="stretch").strip()
    against = None if chosen == BEST else about.model.translator.tokenizer.target.token_id(chosen)
    return EdgeQuestion(position, against, by, second, metric), count


def surveyed(about: Reading, question: EdgeQuestion) -> QuestionSurvey:
    """Return the session's survey for a question.

    Raises:
        ValueError: as `record_replacement`.
    """
    return session_object(SurveySlot).of((about.identity, question), lambda: _begun(about, question))


def run_call(about: Reading, question: EdgeQuestion) -> Call:
    """Return the call that records the run."""
    options = {"second": question.second, "against": question.against, "metric": question.metric}
    place = (*python_code.sentence(about), question.position, question.by)
    return Call("run", record_replacement, place, options)


def survey_call(about: Reading, surveyed: QuestionSurvey) -> Call:
    """Return the call that surveys the edges, with what is known of the result."""
    run = run_call(about, surveyed.question).returning(surveyed.run)
    return Call("result", survey, (run, MEASURED)).returning(surveyed.found)


def products_call(about: Reading, surveyed: QuestionSurvey, edge: Edge, moment: int, query: int, key: int) -> Call:
    """Return the call that computes the products of an edge's receiver's cell."""
    run = run_call(about, surveyed.question).returning(surveyed.run)
    flow = Call("flow", edge_flow, (run, edge)).returning(surveyed.flow(edge))
    return flow.then("products", moment, query, key, name="products")


def _begun(about: Reading, question: EdgeQuestion) -> QuestionSurvey:
    run: Replacement = run_call(about, question).run()
    found = Survey()
    is_short = run.runs.source_ids.size(1) + run.runs.fed.size(1) <= SHORT
    job = Job(survey_steps(run, MEASURED, found), num_steps(run, MEASURED), marked("steps"), is_short)
    return QuestionSurvey(question, run, found, job)


EDGE = address.PATH  # counted from 1: encoder_self.1.2-cross.5.3-value
_NODE = re.compile(rf"({'|'.join(get_args(NodePart))})(?:\.([1-9]\d{{0,2}}))?(?:\.([1-9]\d{{0,2}}))?")


NODE = Widget[Node | None]("paths_node")  # the one that was clicked


def select(place: Node | Edge) -> None:
    """Select an edge, or a node: then its head also on the page Heads."""
    if isinstance(place, Edge):
        EDGE.set(f"{_written(place.sender)}-{_written(place.receiver)}-{place.input}")
        NODE.set(None)
        return
    NODE.set(place)
    if (head := place.as_head) is not None:
        select_head(head)


def selected_edge(edges: Collection[Edge], *, are_all: bool) -> Edge | None:
    """Return the selected edge, None before a click, and write it to the address if it is, or if not all are known
    yet, may be, one of these.
    """
    edge = parsed_edge(EDGE.selected(possible=lambda text: not are_all or parsed_edge(text) in edges) or "")
    return edge if edge in edges else None


def _written(node: Node) -> str:
    return ".".join([node.part, *(str(each + 1) for each in (node.layer, node.head) if each is not None)])


def parsed_edge(text: str) -> Edge | None:
    """Parse an edge such as `encoder_self.1.2-cross.5.3-value`; None for other text."""
    names = text.split("-")
    which: Input | None = next((each for each in INPUTS if each == names[-1]), None)
    if len(names) != 3 or which is None:
        return None
    sender, receiver = (_parsed_node(name) for name in names[:2])
    return None if sender is None or receiver is None else Edge(sender, receiver, which)


def _parsed_node(text: str) -> Node | None:
    parts = _NODE.fullmatch(text)
    if parts is None:
        return None
    part: NodePart = next(each for each in get_args(NodePart) if each == parts[1])
    layer, head = (None if number is None else int(number) - 1 for number in parts.groups()[1:])
    return Node(part, layer, head)
