"""Untrained models of every supported build, for the algebra of editing."""

from __future__ import annotations

from factdrift.models.tiny import BEGIN, TEXT, rounding, tiny_model, tiny_tokenizer

__all__ = ["BEGIN", "FAMILIES", "TEXT", "rounding", "tiny_model", "tiny_tokenizer"]

from factdrift.models.families import read_families

FAMILIES = tuple(read_families())
