"""The choice of hypothesis in the address: a number, or the tokens that were forced. What widgets choose is there by itself."""

import re

import streamlit as st

from viz_app import state
from viz_app.models import Model

READ = "address_read"  # whether this session has looked at the address that it was opened with
HYPOTHESIS, TARGET, PREFIX = "hypothesis", "target", "prefix"  # names in the address; of the hypotheses the first is 1
SEPARATOR = "."


def read(model: Model, search: state.Search) -> None:
    """Choose what the address names, when the session begins.

    Raises:
        ValueError: it names what cannot be.
    """
    if st.session_state.get(READ):
        return
    st.session_state[READ] = True
    if number := st.query_params.get(HYPOTHESIS):
        if not re.fullmatch("[1-9][0-9]?", number):
            raise ValueError(f"the address holds {HYPOTHESIS}={number}, expected a number from 1 on: the best hypothesis is shown instead")
        st.session_state["hypothesis"] = int(number) - 1
    prefix, target = _token_ids(PREFIX), _token_ids(TARGET)
    if prefix or target:
        state.force(model, search, state.Forced(prefix, target or None))


def _token_ids(name: str) -> tuple[int, ...]:
    """Those that the address names so."""
    ids = st.query_params.get(name, "")
    if ids and not re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})*", ids):
        raise ValueError(f"the address holds {name}={ids}, expected token ids such as 7.12.2: the model's own translation is shown instead")
    return tuple(int(token_id) for token_id in ids.split(SEPARATOR) if token_id)


def write(reading: state.Reading) -> None:
    """Name what is looked at, unless it is the best hypothesis."""
    names: dict[str, str] = {}
    if reading.index == state.FORCED_INDEX and reading.forced_as is not None:
        for name, token_ids in ((PREFIX, reading.forced_as.prefix), (TARGET, reading.forced_as.target)):
            if token_ids:
                names[name] = SEPARATOR.join(map(str, token_ids))
    elif reading.index > 0:
        names[HYPOTHESIS] = str(reading.index + 1)
    for name in (HYPOTHESIS, TARGET, PREFIX):
        if name in names and st.query_params.get(name) != names[name]:
            st.query_params[name] = names[name]
        elif name not in names and name in st.query_params:
            del st.query_params[name]
