"""Random numbers that depend on a seed and on an edit, never on the batch that it is in. Imports torch."""

from __future__ import annotations

import hashlib

import torch


def generator(seed: int, text: str, device: torch.device | str = "cpu") -> torch.Generator:
    """A generator seeded by a seed and a text, such as the id of an edit."""
    digest = hashlib.sha256(f"{seed}/{text}".encode()).digest()
    return torch.Generator(device).manual_seed(int.from_bytes(digest[:8]) >> 1)
