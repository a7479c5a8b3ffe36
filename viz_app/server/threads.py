"""The number of threads of the app."""

MAX_THREADS = 4  # at batch size 1, matrix products are too small for more


def chosen_threads(cores: int, requested: str | None) -> int:
    """Return the number of threads to compute with.

    By default half of the cores, since the browser draws on the same machine: PyTorch's threads wait for each other
    after every product, so one that loses its core to the browser stops all of them. For the same reason there are
    never more threads than cores.

    Args:
        cores: number of usable cores.
        requested: the value of `OMP_NUM_THREADS`: a number, or one for each level of nesting, of which the first
            counts; other values are ignored, as OpenMP does.
    """
    first = (requested or "").split(",")[0].strip()
    if first.isdecimal() and int(first) > 0:
        return min(int(first), cores)
    return max(1, min(cores // 2, MAX_THREADS))
