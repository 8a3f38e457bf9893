"""Names of models: as users give them, in tables and in paths."""

from __future__ import annotations

ALIASES = {"sample": "sample-llama"}
BUNDLED = ("sample-llama", "sample-gpt2")
"""The models that the rule `sample_model` trains."""


def split_name(given: str) -> tuple[str, str]:
    """Splits NAME or NAME@REVISION into the name used in tables and the revision (default `main`)."""
    name, _, revision = given.partition("@")
    return ALIASES.get(name, name), revision or "main"


def folder_of(name: str) -> str:
    """The name of the folder that holds the results of a model."""
    return ALIASES.get(name, name).strip("/").replace("/", "--")
