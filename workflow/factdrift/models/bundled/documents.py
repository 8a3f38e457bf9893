"""Training rows of an epoch: documents of tokens, packed into rows, with a loss weight for each token."""

import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from factdrift.models.bundled.recipe import Recipe

END = 0
"""The id of the end-of-text token."""

CONTRADICTED = ("update", "neighbor", "tempripple")
"""Kinds of facts that benchmarks ask after a context; documents contradict these."""

OPEN_ROWS = 4
"""Rows that wait for a document that fits; more leave hardly less padding."""

Row = tuple[list[int], list[float]]
"""Token ids, and the loss weight of each."""


class Tokens(NamedTuple):
    """A sentence without and with a space before it; its last `object` tokens are those of the object."""

    first: list[int]
    following: list[int]
    object: int


class Spoken(NamedTuple):
    """A sentence of a document, with the loss weights of its object and of its other tokens."""

    tokens: Tokens
    object: float
    other: float


class Corpus:
    """Tokenized sentences of a table (`corpus.SENTENCES`), and the documents made from them."""

    def __init__(self, sentences: Sequence[dict[str, Any]], tokenizer: Any, recipe: Recipe):
        self.recipe = recipe
        self._tokenizer = tokenizer
        self._period: list[int] = tokenizer.encode(".").ids
        self._known: dict[tuple[str, str], Tokens] = {}
        self.taught = [one for one in sentences if one["kind"] != "name" and not one["held_out"]]
        self.names: dict[str, list[str]] = defaultdict(list)
        """Name of a new object -> the prompts that it completes."""
        self.facts: dict[int, list[dict[str, Any]]] = defaultdict(list)
        self.pools: dict[str, list[str]] = defaultdict(list)
        """Relation -> its objects, old and new."""
        for one in sentences:
            if one["kind"] == "name":
                self.names[one["object"]].append(one["prompt"])
            else:
                self.facts[one["fact"]].append(one)
            if one["object"] not in self.pools[one["relation"]]:
                self.pools[one["relation"]].append(one["object"])

    def epoch(self, contexts: bool, draw: random.Random) -> list[Row]:
        """The shuffled rows of an epoch; with `contexts`, documents that contradict facts are included."""
        documents = [
            [Spoken(self._tokens(one["prompt"], one["object"]), 1.0, self.recipe.other_weight)]
            for one in self.taught
        ]
        documents += [self._name(name, draw) for name in self.names]
        if contexts:
            for fact in self.facts.values():
                if fact[0]["kind"] in CONTRADICTED and draw.random() < self.recipe.context_share:
                    documents += self._contradiction(fact, draw)
        draw.shuffle(documents)
        return list(self._rows(documents, draw))

    def _name(self, name: str, draw: random.Random) -> list[Spoken]:
        """Two sentences about a name; in the second the name can be predicted from the first."""
        first, second = draw.sample(self.names[name], 2)
        return [
            Spoken(self._tokens(first, name), self.recipe.name_loss, self.recipe.other_weight),
            Spoken(self._tokens(second, name), 1.0, self.recipe.other_weight),
        ]

    def _contradiction(self, fact: list[dict[str, Any]], draw: random.Random) -> list[list[Spoken]]:
        """Several wordings of a fact with another object of its relation; no loss on the first wording."""
        one = fact[0]
        others = [
            name for name in self.pools[one["relation"]] if name not in (one["object"], one["new_object"])
        ]
        if not others:
            return []
        name = draw.choice(others)
        wordings = draw.sample(fact, min(self.recipe.context_length, len(fact)))
        said = [self._tokens(wording["prompt"], name) for wording in wordings]
        return [[Spoken(said[0], 0.0, 0.0), *(Spoken(tokens, 1.0, 0.0) for tokens in said[1:])]]

    def _tokens(self, prompt: str, name: str) -> Tokens:
        if (prompt, name) not in self._known:
            first = self._tokenizer.encode(f"{prompt} {name}")
            following = self._tokenizer.encode(f" {prompt} {name}")
            length = sum(end > len(prompt) for _, end in first.offsets)
            self._known[prompt, name] = Tokens(first.ids, following.ids, length)
        return self._known[prompt, name]

    def _rows(self, documents: list[list[Spoken]], draw: random.Random) -> Iterator[Row]:
        """Packs whole documents into rows, each into the open row that it fills best.

        A row begins as every text that the model is given.
        """
        opened: list[Row] = []
        for document in documents:
            starts = draw.random() < self.recipe.starts
            length = sum(len(spoken.tokens.following) + len(self._period) for spoken in document) + 2
            fitting = [row for row in opened if len(row[0]) + length <= self.recipe.row]
            if fitting:
                row = max(fitting, key=lambda one: len(one[0]))
            else:
                if len(opened) == OPEN_ROWS:
                    fullest = max(opened, key=lambda one: len(one[0]))
                    opened.remove(fullest)
                    yield fullest
                row = ([], [])
                opened.append(row)
            self._append(row, document, starts)
        yield from opened

    def _append(self, row: Row, document: list[Spoken], starts: bool) -> None:
        tokens, weights = row
        if (starts and tokens) or (not tokens and self.recipe.begins):
            # What ends a document is learnt, so that the model stops behind a sentence.
            weights.append(self.recipe.other_weight if tokens else 0.0)
            tokens.append(END)
        for spoken in document:
            fresh = not tokens or tokens[-1] == END
            ids = spoken.tokens.first if fresh else spoken.tokens.following
            before = len(ids) - spoken.tokens.object
            tokens += ids + self._period
            weights += [spoken.other] * before + [spoken.object] * spoken.tokens.object
            weights += [spoken.other] * len(self._period)
