"""Keeps the edits of a job as LoRA adapters (configuration key `edit.keep`). Imports torch."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Sequence
from pathlib import Path

from factdrift.core.owned import new_folder, remove_folder, remove_unfinished, writer_of_name
from factdrift.evaluation.adapters import about, adapter_of, write_adapter
from factdrift.evaluation.methods.hyperparameters import Hyper
from factdrift.evaluation.methods.interface import Edit, Edited
from factdrift.models.loaded import Loaded


class Keeping:
    """The adapters of one job, in a folder beside its finished batches until the job ends."""

    def __init__(self, loaded: Loaded, hyper: Hyper, folder: Path):
        self._loaded, self._hyper, self._folder = loaded, hyper, folder

    def begun(self) -> bool:
        """Whether the adapters of finished batches are there: they are not once they have been moved."""
        return self._folder.is_dir()

    def keep(self, edits: Sequence[Edit], made: Edited, alone: bool) -> None:
        """Writes an adapter for each edit that did not fail, under its id, or one for all.

        `alone`: each edit is in a model of its own.

        The folder of a group has the ids of its first and last edit and a digest of all. A method that
        changes no weight leaves nothing. Raises InputError if a change is not of low rank.
        """
        self._folder.mkdir(parents=True, exist_ok=True)
        lasting = [place for place in range(len(edits)) if place not in made.failed]
        if not made.deltas or not lasting:
            return
        if alone:
            for place in lasting:
                self._write(edits[place].id, [edits[place]], made, place)
            return
        digest = hashlib.sha256("\n".join(edit.id for edit in edits).encode()).hexdigest()[:8]
        name = f"{edits[0].id}..{edits[-1].id}.{digest}"
        self._write(name, [edits[place] for place in lasting], made, 0)

    def _write(self, name: str, edits: Sequence[Edit], made: Edited, place: int) -> None:
        with new_folder(self._folder / name) as folder:  # of a batch that was killed, it is made again
            said = about(self._loaded, self._hyper, edits)
            write_adapter(self._loaded, adapter_of(made.deltas, place), folder, said)

    def move(self, output: Path) -> None:
        """Moves the adapters to their final place, in the place of earlier ones.

        Raises InputError if other files are there.
        """
        self._folder.mkdir(parents=True, exist_ok=True)
        for unfinished in self._folder.iterdir():
            if writer_of_name(unfinished.name):  # of a job that was killed
                remove_unfinished(unfinished)
        remove_folder(output)
        output.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(self._folder, output)
