"""All updates so far in context: the texts of all updates before each prompt. Imports torch.

In-context editing (Zheng et al. 2023, arXiv 2305.12740, section 3) without retrieval and demonstrations: the
model reads all new facts, the newest last. Where they do not fit before a prompt, the oldest are left out and
counted.
"""

from collections.abc import Sequence

from factdrift.evaluation.methods.hyperparameters import Hyper
from factdrift.evaluation.methods.interface import Artefacts, Context, Edit, Edited
from factdrift.evaluation.methods.rag import remembered, texts_of
from factdrift.models.loaded import Loaded


def independent(loaded: Loaded, edits: Sequence[Edit], hyper: Hyper, artefacts: Artefacts) -> Edited:
    """Each edit by itself before every probe: the same as PROMPT."""
    return Edited(contexts=[Recent(loaded, [text], hyper) for text in texts_of(edits, hyper)])


def together(loaded: Loaded, edits: Sequence[Edit], hyper: Hyper, artefacts: Artefacts) -> Edited:
    """All edits so far before every probe, in their order. `memory`: what is `remembered`."""
    memory = remembered(edits, hyper, artefacts)
    return Edited(contexts=recalled(memory, [edit.id for edit in edits], hyper, loaded), memory=memory)


def recalled(
    memory: Sequence[tuple[str, str]], names: Sequence[str], hyper: Hyper, loaded: Loaded
) -> list[Context]:
    """Texts to write before the prompts of the edits with these ids, given the memory of `together`."""
    return [Recent(loaded, [text for _, text in memory], hyper)] * len(names)


class Recent:
    """Gives before each prompt as many of the texts, the last ones, as the model has positions for."""

    def __init__(self, loaded: Loaded, texts: Sequence[str], hyper: Hyper):
        self._tokenizer, self._texts = loaded.tokenizer, texts
        self._room = loaded.spec.positions - hyper["room"]
        # Of each text by itself: after others it may differ by a token at the border, which `room` covers.
        self._lengths = [self._tokens(text) for text in texts]
        self.left_out = 0
        """The greatest number of texts that have been left out before a prompt so far."""

    def __call__(self, prompts: Sequence[str]) -> list[str]:
        found = []
        for prompt in prompts:
            first = self.first(prompt)
            self.left_out = max(self.left_out, first)
            found.append("".join(self._texts[first:]))
        return found

    def first(self, prompt: str) -> int:
        """The index of the first text that fits, with all after it, before a prompt."""
        room, first = self._room - self._tokens(prompt), len(self._texts)
        while first and self._lengths[first - 1] <= room:
            first -= 1
            room -= self._lengths[first]
        return first

    def _tokens(self, text: str) -> int:
        return len(self._tokenizer(text, verbose=False)["input_ids"])
