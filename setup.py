"""Build of a wheel from the files of today; everything else is in pyproject.toml."""

import shutil

from setuptools import setup
from setuptools.command.build import build


class CleanBuild(build):
    """A build without the modules of earlier ones, which setuptools leaves in `build/` and would take along."""

    def run(self) -> None:
        """Build all parts of the wheel."""
        shutil.rmtree(self.build_lib, ignore_errors=True)
        super().run()


setup(cmdclass={"build": CleanBuild})
