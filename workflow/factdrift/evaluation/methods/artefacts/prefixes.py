"""Context prefixes: sampled texts that are put before the prompt, so that an edit holds in any context.

The reference samples them in each process without a seed. Here they are sampled with a seed and kept in a
file.
"""

import json
from pathlib import Path

from factdrift.core.errors import CannotEdit, InputError
from factdrift.core.files import write_json
from factdrift.evaluation.methods.hyperparameters import Hyper
from factdrift.models.loaded import Loaded
from factdrift.models.texts import sampled


def draw_prefixes(loaded: Loaded, hyper: Hyper, seed: int) -> tuple[str, ...]:
    """The empty prefix, then the sampled ones as the hyper-parameters ask for, each followed by ". "."""
    prefixes = [""]
    for place, kind in enumerate(hyper["prefixes"]):
        texts = sampled(
            loaded, kind["start"], kind["tokens"], kind["number"], seed + place, top_k=hyper["top_k"]
        )
        prefixes += [text.replace("{", " ").replace("}", " ") + ". " for text in texts]
    return tuple(prefixes)


def write_prefixes(path: Path, loaded: Loaded, hyper: Hyper, seed: int) -> None:
    """Samples the prefixes of a method on a model and writes them as JSON."""
    about = {"model": loaded.digest, "method": hyper.method, "seed": seed, "drawn": hyper["prefixes"]}
    texts = draw_prefixes(loaded, hyper, seed)
    write_json({**about, "prefixes": texts}, path)


def write_reason(path: Path, reason: str) -> None:
    """Writes in the place of prefixes why there are none."""
    write_json({"skipped": reason}, path)


def read_prefixes(path: Path, loaded: Loaded) -> tuple[str, ...]:
    """Reads a file of `write_prefixes`; raises InputError if it is missing, damaged or of another model.

    Raises CannotEdit with the reason if it has one.
    """
    if not path.is_file():
        raise InputError(f"{path}: no such file; make it with `factdrift edit prefixes`")
    try:
        file = json.loads(path.read_text(encoding="utf-8"))
        if "skipped" in file:
            raise CannotEdit(file["skipped"])
        model, prefixes = file["model"], tuple(file["prefixes"])
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{path}: damaged, or not written by `factdrift edit prefixes` ({type(error).__name__}: "
            f"{error}); delete it and make it again"
        ) from None
    if model != loaded.digest:
        raise InputError(f"{path}: of another model than {loaded.name}; delete it and make it again")
    return prefixes
