"""How many threads the app computes with."""

MOST = 4  # at batch 1 a product of this size is too small for more


def chosen_threads(cores: int, asked: str | None) -> int:
    """Threads to compute with.

    Half of the cores, since the browser is on this machine too and draws at the same time: PyTorch's threads wait for
    one another after every product, so one that has lost its core to the browser stops them all. For the same reason
    never more than there are cores, whatever is asked for.

    Args:
        cores: that may be used.
        asked: the value of `OMP_NUM_THREADS`: a number, or one for each level of nesting, of which the first counts;
            what is neither is left to be ignored, as OpenMP does.
    """
    first = (asked or "").split(",")[0].strip()
    if first.isdecimal() and int(first) > 0:
        return min(int(first), cores)
    return max(1, min(cores // 2, MOST))
