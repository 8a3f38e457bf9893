"""What pyproject.toml cannot say: a wheel holds these folders and files inside the package."""

from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py


class BuildWithData(build_py):
    def run(self) -> None:
        super().run()
        if not self.editable_mode:
            for folder in ("config", "resources", "docs/tables"):
                self.copy_tree(folder, str(Path(self.build_lib, "factdrift", folder)))
            self.copy_file("CITATION.cff", str(Path(self.build_lib, "factdrift", "CITATION.cff")))


setup(cmdclass={"build_py": BuildWithData})
