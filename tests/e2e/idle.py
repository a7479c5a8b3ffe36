"""Waiting until the app has answered: a test that goes on while the app still draws may meet elements that go away."""

from playwright.sync_api import Page

QUIET = 120  # milliseconds; the app seems idle between a run that ends early and the next one, or a request and its run
TIMEOUT = 60_000  # milliseconds of a wait, enough for a busy machine
# Run in a page before its own scripts: `unanswered` says that nothing has come from the server since the last request,
# `messages` counts both. `fetching` counts others, such as that of a preview, after which the sentence is sent.
NOTE_REQUESTS = """
window.WebSocket = class extends WebSocket {
  constructor(...options) {
    super(...options);
    this.addEventListener("message", () => {
      window.messages = (window.messages ?? 0) + 1;
      window.unanswered = false;
    });
  }
  send(data) {
    window.messages = (window.messages ?? 0) + 1;
    window.unanswered = true;
    super.send(data);
  }
};
window.fetching = 0;
const { fetch } = window;
window.fetch = async (...options) => {
  window.fetching += 1;
  try {
    const response = await fetch(...options);
    await response.clone().arrayBuffer(); // on a busy machine, the body may come long after the headers
    return response;
  } finally {
    window.fetching -= 1;
  }
};
"""
IS_IDLE = """([quiet, still]) => {
  const waits = "[data-stale=true], [data-testid=stSkeleton]";
  const app = document.querySelector(".stApp[data-test-script-state=notRunning]");
  const moves = ({ playState, effect }) => playState == "running" && effect.getComputedTiming().endTime < Infinity;
  const idle = app && !window.unanswered && !window.fetching && !document.querySelector(waits)
    && !(still && document.getAnimations().some(moves));
  window.idleSince = idle ? (window.idleSince ?? performance.now()) : undefined;
  return idle && performance.now() - window.idleSince >= quiet;
}"""


def open_page(page: Page, address: str) -> None:
    """Open a page of the app and wait until it is drawn."""
    page.goto(address)
    wait_until_idle(page)


def wait_until_idle(page: Page, *, still: bool = False) -> None:
    """Wait until no script runs, no request is under way and nothing that is shown is about to be replaced.

    Jobs that a page continues by itself are over then; with `still`, nothing fades or moves, either.
    """
    page.evaluate("window.idleSince = undefined")
    page.wait_for_function(IS_IDLE, arg=[QUIET, still], polling=QUIET / 4)
