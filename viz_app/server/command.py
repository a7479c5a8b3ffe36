"""`headlight`: start the app.

    headlight [--checkpoint FILE] [--address ADDRESS] [--port PORT] [--version] [-- STREAMLIT OPTIONS]

The same as `streamlit run viz_app/main.py`, from any folder. docs/serving.md has the environment variables.
"""

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from core.files.extras import MissingPackageError
from core.files.number_range import NumberRange
from core.files.shipped_files import installed_version
from viz_app.session import environment

MAIN = Path(__file__).resolve().parents[1] / "main.py"
IS_POSIX = os.name == "posix"


def main(arguments: Sequence[str] | None = None) -> int:
    """Start the app, which on POSIX becomes this process; return its exit status, or 2 if a setting is wrong."""
    parser = argparse.ArgumentParser(
        prog="headlight", description="Start the app, at http://localhost:8501 by default."
    )
    parser.add_argument("--checkpoint", type=Path, metavar="FILE", help="the model (default: the shipped en-de)")
    parser.add_argument("--address", help="address to listen on (default: 127.0.0.1, for this machine only)")
    parser.add_argument("--port", type=NumberRange(int, 1, 65_535), help="port to listen on (default: 8501)")
    parser.add_argument("--version", action="version", version=f"headlight {installed_version()}")
    parser.add_argument("streamlit", nargs="*", metavar="-- OPTIONS", help="options of `streamlit run`")
    options = parser.parse_args(arguments)
    if find_spec("streamlit") is None:
        parser.error(str(MissingPackageError("the app", "streamlit", "app")))
    try:
        environment.check_settings()
    except environment.SettingError as error:
        parser.error(str(error))
    if options.checkpoint and not os.path.isfile(options.checkpoint):
        parser.error(f"there is no checkpoint {options.checkpoint}: --checkpoint takes a .safetensors file")
    command = [sys.executable, "-m", "streamlit", "run", str(MAIN)]
    for name in ("address", "port"):
        if getattr(options, name) is not None:
            command += [f"--server.{name}", str(getattr(options, name))]
    chosen = {environment.CHECKPOINT_VARIABLE: str(options.checkpoint.resolve())} if options.checkpoint else {}
    command, variables = [*command, *options.streamlit], {**os.environ, **chosen}
    if IS_POSIX:  # replace this process: a signal to it, as of `podman stop`, ends the server
        os.execve(sys.executable, command, variables)
    try:
        return subprocess.run(command, env=variables, check=False).returncode
    except KeyboardInterrupt:  # Streamlit has handled it, too
        return 130


if __name__ == "__main__":
    sys.exit(main())
