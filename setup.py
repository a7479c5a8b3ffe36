"""Build of a wheel from the files of today, with compiled texts; everything else is in pyproject.toml."""

import shutil
from pathlib import Path

from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from setuptools import setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build import build
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py

CATALOGUES = Path("viz_app/language/catalogues")


class CleanBuild(build):
    """A build without the modules of earlier ones, which setuptools leaves in `build/` and would take along."""

    def run(self) -> None:
        """Build all parts of the wheel."""
        shutil.rmtree(self.build_lib, ignore_errors=True)
        super().run()


class BuildWithTexts(build_py):
    """A build of the modules with the texts of the interface, compiled: beside their sources if those are installed."""

    def run(self) -> None:
        """Build the modules, then compile `viz_app/language/catalogues`."""
        super().run()
        for source in CATALOGUES.glob("*/LC_MESSAGES/*.po"):
            compiled = (source if self.editable_mode else Path(self.build_lib, source)).with_suffix(".mo")
            compiled.parent.mkdir(parents=True, exist_ok=True)
            with source.open("rb") as texts, compiled.open("wb") as file:
                write_mo(file, read_po(texts))

    def get_source_files(self) -> list[str]:
        """Return what a source archive needs: the texts, too, which pyproject.toml keeps out of wheels."""
        return [*super().get_source_files(), *map(str, CATALOGUES.glob("*/LC_MESSAGES/*.po"))]


class BuildForAnyPython(build_ext):
    """A build of the compiled steps, which ctypes opens, under the names that `core/native/library.py` knows."""

    def get_ext_filename(self, fullname: str) -> str:
        """Return the path of a compiled file, without a version of Python."""
        return f"{fullname.replace('.', '/')}.so"


class WheelForAnyPython(bdist_wheel):
    """A wheel of this platform for every Python: nothing in it is compiled against one."""

    def get_tag(self) -> tuple[str, str, str]:
        """Return the versions of Python, their binary interface, and the platform."""
        return "py3", "none", super().get_tag()[2]


setup(
    cmdclass={
        "build": CleanBuild,
        "build_py": BuildWithTexts,
        "build_ext": BuildForAnyPython,
        "bdist_wheel": WheelForAnyPython,
    }
)
