"""What a method needs besides the model, where people make edits by hand: files of builds, shipped or drawn.

Imports torch.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

from factdrift.core.errors import InputError
from factdrift.core.paths import SHIPPED_MODELS
from factdrift.evaluation.methods.hyperparameters import Hyper, needs
from factdrift.evaluation.methods.shared import write_prefixes
from factdrift.models.loaded import Loaded
from factdrift.models.moments import read_file
from factdrift.models.names import BUNDLED, folder_of


def find_files(
    model: Loaded,
    hyper: Hyper,
    lacking: Sequence[str],
    results: Path,
    drawn: Path,
    command: Callable[[], str],
) -> dict[str, Path]:
    """Option -> file or folder of what a method needs, of the options `lacking`.

    They are the newest ones that the workflow has computed for the model, or those that ship with a bundled
    one, and no second moments if there are none; prefixes are drawn into the folder `drawn`, with the seed of
    `edit prefixes`. `command`: gives the command that makes what is missing. Raises InputError that says what
    is missing and how to make it.
    """
    files: dict[str, Path] = {}
    of_model = f"*/edit/{folder_of(model.name)}"
    for option, name in needs(hyper).items():
        if option not in lacking:
            continue
        if option == "prefixes":
            files[option] = drawn / name
            write_prefixes(files[option], model, hyper, 0)
            continue
        wanted = [f"{name}/{layer}.safetensors" for layer in hyper.layers] if option == "moments" else [name]
        folders = [
            folder for folder in results.glob(of_model) if all((folder / file).is_file() for file in wanted)
        ]
        newest = max(folders, key=lambda folder: (folder / wanted[0]).stat().st_mtime, default=None)
        if newest is None and option == "moments" and model.name in BUNDLED:
            own = SHIPPED_MODELS / model.name
            # Of these very weights, not of others that were trained under the same name.
            if all((own / file).is_file() and read_file(own / file).model == model.digest for file in wanted):
                newest = own
        if newest is None and option == "moments":
            continue
        if newest is None:
            raise InputError(
                f"{hyper.method} on {model.name} needs {', '.join(wanted)}, which is not under "
                f"{results}/{of_model}; make it with `{command()}`, and name it with --{option}"
            )
        files[option] = newest / name
    return files
