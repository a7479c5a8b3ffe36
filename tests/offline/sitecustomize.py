"""Python imports this at its start. Tests do not: in a process of theirs, Debian's Python has its own of this name."""

import refused_connections  # noqa: F401 -- it adds its hook
