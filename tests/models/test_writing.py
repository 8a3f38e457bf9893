"""What a model writes until it stops by itself, against `generate` of transformers row by row."""

import torch
from support.tiny_models import tiny_model
from support.writing import continued

from factdrift.models.writing import Generation, write

TEXTS = ("The capital of Atlantis is", "Joe", "It is said that the president of the old republic was")


def test_a_text_ends_where_transformers_ends_it_or_at_the_last_position():
    loaded = tiny_model("gptj", dtype=torch.float32)
    prompts = [loaded.tokenizer(text).input_ids for text in TEXTS]
    free = continued(loaded, prompts, [12] * len(prompts))
    stops = {free[0][3], free[2][7]}
    found = write(loaded, [Generation(ids, 12, stops=stops) for ids in prompts], {}, 8192)
    for ids, tokens in zip(prompts, found, strict=True):
        made = loaded.model.generate(
            torch.tensor([ids]), max_new_tokens=12, do_sample=False, eos_token_id=sorted(stops)
        )
        assert tokens == made[0, len(ids) :].tolist()
    begun = [Generation([5] * (loaded.spec.positions - left), 9) for left in (2, 0)]
    assert [len(tokens) for tokens in write(loaded, begun, {}, 8192)] == [2, 0]
