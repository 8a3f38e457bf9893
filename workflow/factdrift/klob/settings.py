"""Settings of KLoB's commands: the configuration's part `klob`, and four keys that stages share."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Literal

import msgspec

from factdrift.core.errors import InputError
from factdrift.core.switches import switches


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The keys under `klob` that a command needs; `config/config.schema.yaml` describes each."""

    min_sitelinks: int
    max_answer_share: Literal["variant"] | float
    single_valued: bool
    object_words: Literal["any", "single"]
    max_object_words: int
    c_quota: Literal["table2", "all"] | int
    source: Literal["snapshot", "mquake"]
    second_hop: Literal["mquake44", "all_np"]
    min_pair_support: int
    max_pair_share: float
    r_quota: int
    chain_text: Literal["np", "question"]
    size: Literal["per_sentence"] | int
    words: str
    words_sha256: str
    filter: Literal["off", "on"]
    need: Literal["all", "majority", "any"]
    demos: str
    device: str
    budget: int
    model: str | None = None
    revision: str | None = None
    dtype: Literal["float32", "bfloat16", "float16"] | None = None
    seed: int = 0
    slice: bool = False
    page_classes: tuple[str, ...] = ()
    grammar: Literal["variant", "fitted", "plain"] = "variant"

    @property
    def answer_share(self) -> float:
        """`max_answer_share` as a number; `variant` is 1 where no variant is known, as outside a workflow."""
        return 1.0 if self.max_answer_share == "variant" else self.max_answer_share


def settings_json(config: Mapping[str, Any], *names: str) -> str:
    """What `--settings` takes, from a whole configuration: all fields of Settings, or those named.

    Keys that the configuration leaves out, such as the recall filter's model, are left out here too.
    """
    klob = config["klob"]
    given = {
        "seed": config["seed"],
        "slice": config["slice"],
        "page_classes": config["method"]["page_classes"],
        "grammar": switches({"variant": config["variant"], "grammar": config["grammar"]})["grammar"],
    }
    for path, value in _leaves(klob, ()):
        given["_".join(path)] = given[path[-1]] = value
    if klob["max_answer_share"] == "variant":
        revised = config["variant"] == "revised"
        given["max_answer_share"] = klob["max_answer_share_revised"] if revised else 1.0
    fields = Settings.__struct_fields__
    if unknown := set(names) - set(fields):
        raise KeyError(", ".join(sorted(unknown)))
    return json.dumps({name: given[name] for name in names or fields if name in given}, sort_keys=True)


def _leaves(part: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    for key, value in part.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, (*path, key))
        else:
            yield (*path, key), value


def recall_model(settings: Settings) -> tuple[str, str, str]:
    """Name, revision and data type of the recall filter's model; InputError if one of them is not given."""
    model, revision, dtype = settings.model, settings.revision, settings.dtype
    if model is None or revision is None or dtype is None:
        given = {"model": model, "revision": revision, "dtype": dtype}
        missing = ", ".join(name for name, value in given.items() if value is None)
        raise InputError(f"--settings: {missing} of klob.recall must be given: the tables name the model")
    return model, revision, dtype
