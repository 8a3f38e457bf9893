"""Settings of the locating jobs: keys of the part `locate` of the configuration, and how models are run."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from factdrift.models.running import Computing

PART = "locate"
Positive = Annotated[int, msgspec.Meta(ge=1)]
Percent = Annotated[float, msgspec.Meta(gt=0, le=100)]


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How a locating job runs; models are run as in editing (the part `edit`)."""

    edit_device: str
    edit_dtype: Literal["auto", "float32", "bfloat16", "float16", "float64"]
    budget: Positive
    batch: Positive
    k: tuple[Percent, ...]
    seed: int

    @property
    def computing(self) -> Computing:
        return Computing(device=self.edit_device, gpus=1, dtype=self.edit_dtype)
