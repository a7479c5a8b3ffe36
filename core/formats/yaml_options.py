"""Options from an untrusted YAML file."""

from typing import Any, cast

import yaml

from core.files.budget import MAX_YAML_BYTES


class _Loader(yaml.SafeLoader):
    """Reads plain values, without repeated keys, and without references, which could repeat a value without end."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise ValueError("it refers to a part of itself (*), expected every value in full")
        return super().compose_node(parent, index)

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        mapping = super().construct_mapping(node, deep)
        if len(mapping) < len(node.value):
            raise ValueError("one of its sections has a key twice")
        return mapping


def yaml_object(data: bytes) -> dict[str, Any]:
    """Parse a mapping with texts as keys.

    Raises:
        ValueError: it is not UTF-8, not YAML, too long, nested too deeply or no mapping, or has references or a key
            twice.
    """
    if len(data) > MAX_YAML_BYTES:
        raise ValueError(f"it has {len(data)} bytes, at most {MAX_YAML_BYTES} are read")
    try:
        value = yaml.load(data.decode("utf-8-sig"), _Loader)
    except ValueError:
        raise
    except Exception as error:  # PyYAML does not list them
        raise ValueError(f"it is nested too deeply or no YAML: {' '.join(str(error).split())}") from error
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in cast("dict[Any, Any]", value)):
        raise ValueError(f"it is a {type(value).__name__}, expected options by name")
    return cast("dict[str, Any]", value)
