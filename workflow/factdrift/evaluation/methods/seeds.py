"""Random numbers that depend on a seed and on an edit, never on the batch that it is in. Imports torch."""

import contextlib
import hashlib
import random
from collections.abc import Iterator

import numpy as np
import torch


def generator(text: str, device: torch.device | str = "cpu") -> torch.Generator:
    """A generator seeded by a text, such as a seed and the id of an edit."""
    digest = hashlib.sha256(text.encode()).digest()
    return torch.Generator(device).manual_seed(int.from_bytes(digest[:8]) >> 1)


@contextlib.contextmanager
def seeded(text: str, device: torch.device) -> Iterator[None]:
    """Seeds the generators of torch, numpy and Python by a text, and restores their states at the end."""
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")
    states = random.getstate(), np.random.get_state()
    with torch.random.fork_rng([device] if device.type == "cuda" else []):
        torch.manual_seed(seed)
        random.seed(seed)
        np.random.seed(seed)
        try:
            yield
        finally:
            random.setstate(states[0])
            np.random.set_state(states[1])
