"""Report missing texts of the catalogues: `python -m viz_app.language [CODE]`.

With a code, print the missing texts as JSON, to be completed with their translations.
"""

import json
import sys

from viz_app.language import ENGLISH, LANGUAGES, catalogue
from viz_app.language.extraction import interface_texts, problems


def main(arguments: list[str]) -> int:
    """Run the command, and return its exit status: 1 if a catalogue needs changes."""
    codes = [code for code in LANGUAGES if code != ENGLISH]
    if not set(arguments) <= set(codes):
        print(f"expected one of {', '.join(codes)}, or nothing; found {' '.join(arguments)}", file=sys.stderr)
        return 2
    if arguments:
        known = catalogue(arguments[0])
        missing = {
            key: forms if len(forms) > 1 else key for key, forms in interface_texts().items() if key not in known
        }
        print(json.dumps(missing, ensure_ascii=False, indent=1))
        return int(bool(missing))
    found = [f"{code}: {problem}" for code in codes for problem in problems(catalogue(code))]
    print("\n".join(found) or f"{len(interface_texts()):,} texts, in {len(codes) + 1} languages")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
