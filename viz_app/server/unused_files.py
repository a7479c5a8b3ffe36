"""Files of installed packages that the app never opens.

They are tests, headers of C++, extensions of Jupyter and pyarrow's clients of network services.

    python -m viz_app.server.unused_files [--delete]

For an installation that only runs the app, such as a container. The packages keep their versions; to restore the files,
install the packages again (`pip install --force-reinstall --no-deps PACKAGE`).
"""

import argparse
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from importlib.metadata import distributions
from os.path import normpath
from pathlib import Path, PurePath

PACKAGES = ("matplotlib", "networkx", "numpy", "pandas", "plotly", "pyarrow", "pydeck", "sympy", "torch")
FOLDERS = {"include", "labextension", "labextensions", "nbextension", "nbextensions", "test", "tests"}
TOOLS = ("torch", "bin")  # compilers of network formats
USED_TOOL = "torch_shm_manager"  # torch looks for it when it is imported
NETWORK = ("pyarrow", ("_flight.", "_s3fs.", "libarrow_flight.", "libarrow_python_flight.", "libarrow_s3."))


def is_unused(file: PurePath) -> bool:
    """Whether the app never opens a file of one of `PACKAGES`, by its path in the folder of installed packages."""
    is_tool = file.parts[:2] == TOOLS and file.name != USED_TOOL
    package, beginnings = NETWORK
    is_client = file.parts[0] == package and file.name.startswith(beginnings)
    return not FOLDERS.isdisjoint(file.parts[:-1]) or is_tool or is_client


def unused_files(folders: Sequence[str] = ()) -> dict[str, list[Path]]:
    """Return the unused files of each package in these folders, by default those of this Python, that has any."""
    by_package: dict[str, list[Path]] = {}
    for each in distributions(path=list(folders)) if folders else distributions():
        name = each.metadata["Name"].lower()
        if name in PACKAGES:
            paths = [Path(normpath(str(each.locate_file(file)))) for file in each.files or [] if is_unused(file)]
            by_package[name] = [path for path in paths if path.is_file()]
    return {name: paths for name, paths in sorted(by_package.items()) if paths}


def delete(paths: Iterable[Path]) -> None:
    """Delete files, and the folders that are then empty.

    Raises:
        OSError: a file cannot be deleted.
    """
    for path in paths:
        path.unlink()
        with suppress(OSError):  # a folder that is not empty
            for folder in path.parents:
                folder.rmdir()


def report(by_package: Mapping[str, Sequence[Path]]) -> str:
    """Return the megabytes of each package, and of all together."""
    sizes = {name: sum(path.stat().st_size for path in paths) / 1e6 for name, paths in by_package.items()}
    lines = [f"{size:8.1f} MB {name}" for name, size in sizes.items()]
    return "\n".join([*lines, f"{sum(sizes.values()):8.1f} MB together"])


def main(arguments: Sequence[str] | None = None) -> int:
    """List the unused files by package, and delete them with `--delete`."""
    parser = argparse.ArgumentParser(
        prog="python -m viz_app.server.unused_files",
        description="List what installed packages bring along and the app never opens: tests, headers of C++, "
        "extensions of Jupyter, clients of network services. Without headers, torch.compile does not work.",
    )
    parser.add_argument("--delete", action="store_true", help="delete these files")
    options = parser.parse_args(arguments)
    by_package = unused_files()
    print(report(by_package))
    if options.delete:
        try:
            delete(path for paths in by_package.values() for path in paths)
        except OSError as error:
            print(f"cannot delete {error.filename}: {error.strerror}; run this as the owner of it", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
