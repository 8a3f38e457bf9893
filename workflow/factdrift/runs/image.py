"""The container image of the jobs, under a name that every checkout shares."""

from __future__ import annotations

from pathlib import Path

from factdrift.core.errors import InputError


def link_image(image: Path, link: Path) -> None:
    """Makes `link` a symbolic link to the container image.

    The workflow names the link: Snakemake refuses an image whose path has a space, and would repeat all jobs
    if the path changed. Raises InputError that names the command to build the image if there is none, or if
    `link` is a file.
    """
    if not image.is_file():
        recipe = image.with_suffix(".def")
        raise InputError(
            f"{image}: the container image has not been built; run `apptainer build {image} {recipe}` in the "
            "checkout, or leave out --software-deployment-method (--sdm) apptainer"
        )
    target = image.resolve()
    if link.is_symlink() and link.resolve() == target:
        return  # other jobs may be using it
    if link.exists() and not link.is_symlink():
        raise InputError(f"{link}: is a file of its own, where a link to {image} belongs; move it away")
    link.parent.mkdir(parents=True, exist_ok=True)
    link.unlink(missing_ok=True)
    link.symlink_to(target)
