"""Second moments over text that a model writes, kept in the user's cache folder. Imports torch."""

import json
import sys
import time
from collections.abc import Sequence
from functools import partial
from itertools import count
from pathlib import Path

from factdrift.core import paths
from factdrift.core.files import write_json
from factdrift.core.owned import file_lock
from factdrift.core.progress import Progress
from factdrift.models.loaded import Loaded
from factdrift.models.moments import check_blocks, count_moments, default_tokens
from factdrift.models.texts import LENGTH, NUMBER, sampled

VERSION = "2"
"""Goes up where the code makes other texts or sums for the same model, so that kept ones are not used."""
FEWEST_TOKENS = 20_000
"""Fewer than of other text, since a model writes a token in the time in which it reads four."""
TRIAL = 4
"""Tokens of a text that are written first, from which the time is estimated."""


def sampled_moments(loaded: Loaded, layers: Sequence[int], seed: int = 0, tokens: int = 0) -> dict[int, Path]:
    """Block -> file of its second moments over text that the model writes, in the order of `layers`.

    Moments that are kept from an earlier call are not counted again, and a killed call goes on after the last
    texts that it has written. Both depend on the model and its type, the kind of device and the seed.
    `tokens`: 0 for ten times the width of the keys, at least FEWEST_TOKENS. Raises InputError or CannotEdit
    as `check_blocks`.
    """
    check_blocks(loaded, layers)
    wanted = tokens or default_tokens(loaded, FEWEST_TOKENS)
    depends = loaded.digest[:16], str(loaded.dtype).removeprefix("torch."), loaded.device.type
    root = paths.cache_folder() / "moments" / "-".join([*depends, VERSION])
    folder = root / f"{seed}-{wanted}"
    files = {layer: folder / f"{layer}.safetensors" for layer in layers}
    blocks = f"block {layers[0]}" if len(layers) == 1 else f"blocks {', '.join(map(str, layers))}"
    about = f"second moments of {blocks} of {loaded.name}, over {wanted:,} tokens that the model writes"
    say = partial(print, file=sys.stderr, flush=True)
    with file_lock(root / "lock", lambda: say(f"{root}: another command makes second moments; waiting")):
        lacking = [layer for layer, path in files.items() if not path.is_file()]
        say(f"{about}: {'made once, and' if lacking else 'as'} kept in {folder}")
        if lacking:
            texts = _texts(loaded, root / "texts", seed, wanted, 1 + (max(lacking) + 1) / loaded.spec.layers)
            counted = count_moments(loaded, lacking, texts, wanted, name="text that the model wrote")
            for layer, moments in counted.items():
                moments.write(files[layer])
    return files


def _texts(loaded: Loaded, folder: Path, seed: int, wanted: int, passes: float) -> list[str]:
    """Texts that the model writes, until they have `wanted` tokens; `folder` keeps those of every seed.

    `passes`: through the whole model for a token, with that which counts it, for the estimated time.
    """
    texts: list[str] = []
    tokens, progress = 0, None
    for batch in count(seed):
        path = folder / f"{batch}.json"
        if not path.is_file():
            if progress is None:
                begun = time.monotonic()
                sampled(loaded, "", 1 + TRIAL, NUMBER, seed)
                seconds = (time.monotonic() - begun) / (TRIAL * NUMBER) * (wanted - tokens) * passes
                what = f"text of {loaded.name}"
                print(f"{what}: about {seconds:,.0f} s, moments included", file=sys.stderr, flush=True)
                progress = Progress(what, wanted, "tokens", tokens)
            step = partial(progress.advance, NUMBER)
            write_json(sampled(loaded, "", LENGTH, NUMBER, batch, after=step), path)
        texts += json.loads(path.read_text(encoding="utf-8"))
        ids = loaded.tokenizer(texts[-NUMBER:], verbose=False)["input_ids"]
        tokens += sum(min(len(row), loaded.spec.positions) for row in ids)
        if tokens >= wanted:
            return texts
    raise AssertionError  # seeds do not end
