"""Settings of KLoB's commands: the configuration's part `klob`, and keys that stages share."""

from typing import Any, Literal

from msgspec import Struct, field, structs

from factdrift.core.errors import InputError
from factdrift.core.switches import Variant, switches


class Settings(Struct, frozen=True, forbid_unknown_fields=True):
    """The keys under `klob` that a command needs; `config/config.schema.yaml` describes each."""

    variant: Variant
    max_answer_share_revised: float
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
    page_classes: tuple[str, ...] = field(name="method_page_classes", default=())
    grammar: Literal["variant", "fitted", "plain"] = "variant"

    @property
    def answer_share(self) -> float:
        """`max_answer_share` as a number: what the variant says where it is left to that."""
        if self.max_answer_share == "variant":
            return self.max_answer_share_revised if self.variant == "revised" else 1.0
        return self.max_answer_share

    def quota(self, published: int) -> int | None:
        """`c_quota` of a relation with that many published examples; None: no limit."""
        if self.c_quota == "table2":
            return published
        return None if self.c_quota == "all" else int(self.c_quota)

    @property
    def sitelinks(self) -> int:
        """`min_sitelinks`, which the recall filter replaces."""
        return self.min_sitelinks if self.filter == "off" else 0

    @property
    def chosen_grammar(self) -> str:
        """`grammar`: what the variant says where it is left to that."""
        return switches({"variant": self.variant, "grammar": self.grammar})["grammar"]

    def resolved(self) -> dict[str, Any]:
        """All settings by name, those that are left to the variant in its place."""
        own = {"max_answer_share": self.answer_share, "grammar": self.chosen_grammar}
        values = structs.asdict(self) | own
        return {key: values[key] for key in values if key not in ("variant", "max_answer_share_revised")}


def recall_model(settings: Settings) -> tuple[str, str, str]:
    """Name, revision and data type of the recall filter's model; InputError if one of them is not given."""
    model, revision, dtype = settings.model, settings.revision, settings.dtype
    if model is None or revision is None or dtype is None:
        keys = {"model": model, "revision": revision, "dtype": dtype}
        missing = ", ".join(name for name, value in keys.items() if value is None)
        raise InputError(f"--settings: {missing} of klob.recall must be given: the tables name the model")
    return model, revision, dtype
