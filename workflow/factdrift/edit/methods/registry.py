"""The methods by name."""

from __future__ import annotations

from factdrift.edit.methods.ft import ft
from factdrift.edit.methods.interface import Artefacts, Edit, Edited, Method
from factdrift.edit.methods.lora import lora
from factdrift.edit.methods.memit import memit
from factdrift.edit.methods.mend import mend
from factdrift.edit.methods.prompt import none, prompt
from factdrift.edit.methods.rag import rag
from factdrift.edit.methods.rome import rome

__all__ = ["METHODS", "Artefacts", "Edit", "Edited", "Method"]

METHODS: dict[str, Method] = {
    "none": none,
    "ft": ft,
    "ft_l": ft,
    "mend": mend,
    "rome": rome,
    "memit": memit,
    "lora": lora,
    "prompt": prompt,
    "rag": rag,
}
