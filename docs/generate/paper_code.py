"""Lines of `core/paper.py` for docs/paper.md, below the section of the paper that they are, with a model's shapes."""

import re

from core.drawing.paper_parts import paper_code, parts_of_section
from core.files.shipped_files import shipped_checkpoint
from core.formats.checkpoint import load_checkpoint

SECTION = re.compile(r"^## ([\d.]+) .+?(?=^## |\Z)", re.MULTILINE | re.DOTALL)
BLOCK = """
<details markdown="1">
<summary><code>{name}</code>,
<a href="http://localhost:8501/overview?part={part}">this part of Figure 1</a></summary>

```python
{shapes}{lines}
```

</details>
"""


CARD = """
[A sentence to try for this section](http://localhost:8501/sections?section={number}), in the app.
"""


def with_paper_code(markdown: str) -> str:
    """Add the lines at the end of each section, collapsed, and a link to its card in the app if it has one."""
    config = load_checkpoint(shipped_checkpoint("en-de")).model.config
    heads, d_k, _ = config.encoder_heads
    sizes = {"B": 1, "H": heads, "D": config.d_model, "F": config.d_ff, "E": d_k, "V": config.vocab_size}

    def block(name: str, part: str) -> str:
        lines, shapes, _ = paper_code()["sources"][name].values()
        named = ", ".join(" ".join(filter(None, (each, str(sizes.get(each, "")), shapes[each]))) for each in shapes)
        return BLOCK.format(name=name, part=part, lines=lines, shapes=named and f"# of en-de: {named}\n")

    def section(match: re.Match[str]) -> str:
        card = CARD.format(number=match[1]) if "\nCode: " in match[0] else ""
        blocks = (block(*each) for each in parts_of_section(match[1]).items())
        return "\n".join([match[0].rstrip(), card, *blocks, "\n"])

    return SECTION.sub(section, markdown)
