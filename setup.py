"""Build of a wheel from the files of today, with compiled texts; everything else is in pyproject.toml."""

import shutil
from pathlib import Path

from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from setuptools import setup
from setuptools.command.build import build
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


setup(cmdclass={"build": CleanBuild, "build_py": BuildWithTexts})
