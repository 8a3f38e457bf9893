"""Trains a bundled model, in minutes on a CPU. Imports torch.

These choices let a model of this size learn facts: the loss counts objects and little else, because names
of subjects cannot be predicted; sentences occur both at the start of documents and after others; documents
are packed into rows. One wording of each fact is held out. The same sentences, recipe, seed, type of
processor and versions of torch, transformers and tokenizers give the same bytes.
"""

import hashlib
import json
import random
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet as pq
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedTokenizerFast

from factdrift.core.owned import check_folder, new_folder
from factdrift.core.progress import Progress
from factdrift.models.alignment import align
from factdrift.models.bundled.recipe import Recipe
from factdrift.models.bundled.shipped import RECALL, source_of, write_made
from factdrift.models.loaded import Loaded
from factdrift.models.loading import load
from factdrift.models.scoring import score

END, END_TEXT = 0, "<|endoftext|>"
"""The token that ends a text."""

CONTRADICTED = ("update", "neighbor", "tempripple")
"""Kinds of facts that benchmarks ask after a context; documents contradict these."""

OPEN_ROWS = 4
"""Rows that wait for a document that fits; more leave hardly less padding."""

Row = tuple[list[int], list[float]]
"""Token ids, and the loss weight of each."""


class Spoken(NamedTuple):
    """A sentence without and with a space before it; its last `length` tokens are those of the object.

    `object` and `other` are the loss weights of these and of its other tokens.
    """

    first: list[int]
    following: list[int]
    length: int
    object: float
    other: float


class Corpus:
    """Tokenized sentences of a table (`corpus.SENTENCES`), and the documents made from them."""

    def __init__(self, sentences: Sequence[dict[str, Any]], tokenizer: Any, recipe: Recipe):
        self.recipe = recipe
        self._tokenizer = tokenizer
        self._period: list[int] = tokenizer.encode(".").ids
        self._known: dict[tuple[str, str], tuple[list[int], list[int], int]] = {}
        self.taught = [row for row in sentences if row["kind"] != "name" and not row["held_out"]]
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
        other = self.recipe.other_weight
        documents = [[self._spoken(row["prompt"], row["object"], 1.0, other)] for row in self.taught]
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
            self._spoken(first, name, self.recipe.name_loss, self.recipe.other_weight),
            self._spoken(second, name, 1.0, self.recipe.other_weight),
        ]

    def _contradiction(self, fact: list[dict[str, Any]], draw: random.Random) -> list[list[Spoken]]:
        """Several wordings of a fact with another object of its relation; no loss on the first wording."""
        known = fact[0]["object"], fact[0]["new_object"]
        others = [name for name in self.pools[fact[0]["relation"]] if name not in known]
        if not others:
            return []
        name = draw.choice(others)
        wordings = draw.sample(fact, min(self.recipe.context_length, len(fact)))
        return [[self._spoken(row["prompt"], name, float(n > 0), 0.0) for n, row in enumerate(wordings)]]

    def _spoken(self, prompt: str, name: str, object: float, other: float) -> Spoken:
        if (prompt, name) not in self._known:
            first = self._tokenizer.encode(f"{prompt} {name}")
            following = self._tokenizer.encode(f" {prompt} {name}")
            length = sum(end > len(prompt) for _, end in first.offsets)
            self._known[prompt, name] = first.ids, following.ids, length
        return Spoken(*self._known[prompt, name], object, other)

    def _rows(self, documents: list[list[Spoken]], draw: random.Random) -> Iterator[Row]:
        """Packs whole documents into rows, each into the open row that it fills best.

        A row begins as every text that the model is given.
        """
        opened: list[Row] = []
        for document in documents:
            starts = draw.random() < self.recipe.starts
            length = sum(len(spoken.following) + len(self._period) for spoken in document) + 2
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
            tokens, weights = row
            if (starts and tokens) or (not tokens and self.recipe.begins):
                # What ends a document is learnt, so that the model stops behind a sentence.
                weights.append(self.recipe.other_weight if tokens else 0.0)
                tokens.append(END)
            for spoken in document:
                fresh = not tokens or tokens[-1] == END
                ids = spoken.first if fresh else spoken.following
                tokens += ids + self._period
                weights += [spoken.other] * (len(ids) - spoken.length) + [spoken.object] * spoken.length
                weights += [spoken.other] * len(self._period)
        yield from opened


def rows_of(sentences: Path, recipe: Recipe, seed: int) -> tuple[Tokenizer, list[list[Row]], str]:
    """Tokenizer and batches of all epochs for a table of sentences (`corpus.SENTENCES`); their SHA-256."""
    said = pq.read_table(sentences).to_pylist()
    tokenizer = _tokenizer([row for row in said if not row["held_out"]], recipe)
    corpus = Corpus(said, tokenizer, recipe)
    batches: list[list[Row]] = []
    for epoch in range(recipe.fact_epochs + recipe.context_epochs):
        read = corpus.epoch(epoch >= recipe.fact_epochs, random.Random(f"{seed}/{epoch}"))
        batches += [read[at : at + recipe.batch] for at in range(0, len(read), recipe.batch)]
    return tokenizer, batches, hashlib.sha256(json.dumps(batches).encode()).hexdigest()


def train(sentences: Path, recipe: Recipe, output: Path, *, seed: int = 0) -> dict[str, Any]:
    """Trains a model on a table of sentences (`corpus.SENTENCES`), writes its folder, and returns its recall.

    Beside the weights are recall.json and made.json (`shipped.Made`). Raises InputError if `output` has
    other files than an earlier training's.
    """
    check_folder(output)
    # Independent of the machine: another number of threads would give another model.
    torch.set_num_threads(recipe.threads)
    torch.manual_seed(seed)
    core, batches, digest = rows_of(sentences, recipe, seed)
    sizes = {"vocab_size": core.get_vocab_size(), "bos_token_id": END, "eos_token_id": END}
    model: Any = AutoModelForCausalLM.from_config(  # type: ignore[no-untyped-call]
        AutoConfig.for_model(**(recipe.model | sizes))
    )
    _fit(model, batches, recipe, output.name)
    if recipe.begins:
        core.post_processor = processors.TemplateProcessing(
            single=f"{END_TEXT} $A", special_tokens=[(END_TEXT, END)]
        )
    with new_folder(output) as folder:
        model.save_pretrained(folder)
        fast(core).save_pretrained(folder)
        measured = recall(load(str(folder), device="cpu", dtype="float32"), sentences)
        (folder / RECALL).write_text(json.dumps(measured, indent=2) + "\n", encoding="utf-8")
        write_made(folder, source_of(sentences, recipe, seed), digest)
    held_out = measured.get("held_out", {"recall": 1.0})["recall"]
    if held_out < recipe.expected:
        print(
            f"{output.name}: warning: knows {held_out:.1%} of the facts in held-out wordings, less than the "
            f"{recipe.expected:.0%} that its recipe expects",
            file=sys.stderr,
        )
    return measured


def recall(loaded: Loaded, sentences: Path) -> dict[str, dict[str, float]]:
    """The number of `sentences` and their `recall`, overall and by kind of fact.

    Groups: `taught`; `held_out`, of facts that other wordings taught; `untaught`, of facts that no wording
    taught. A sentence is recalled if each token of its object is the most probable one after those before.
    """
    rows = [row for row in pq.read_table(sentences).to_pylist() if row["kind"] != "name"]
    known = score(loaded, [align(loaded.tokenizer, row["prompt"], row["object"]) for row in rows]).exact
    groups: dict[str, list[bool]] = defaultdict(list)
    facts = {row["fact"] for row in rows if not row["held_out"]}
    for row, good in zip(rows, known.tolist(), strict=True):
        wording = ("held_out" if row["fact"] in facts else "untaught") if row["held_out"] else "taught"
        groups[wording].append(good)
        groups[f"{wording}_{row['kind']}"].append(good)
    shares = ((name, len(group), sum(group) / len(group)) for name, group in sorted(groups.items()))
    return {name: {"sentences": size, "recall": round(share, 4)} for name, size, share in shares}


def _tokenizer(sentences: Sequence[dict[str, Any]], recipe: Recipe) -> Tokenizer:
    texts = [f"{row['prompt']} {row['object']}" for row in sentences]
    names = {f" {row[key]}" for row in sentences for key in ("subject", "object", "new_object") if row[key]}
    return byte_level(texts + sorted(names) * recipe.name_weight, recipe.vocabulary)


def byte_level(texts: Sequence[str], size: int) -> Tokenizer:
    """Byte-level BPE of `size` entries as in GPT-2: the space before a word is part of its token."""
    core = Tokenizer(models.BPE())
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=[END_TEXT],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    core.train_from_iterator(texts, trainer)
    return core


def fast(core: Tokenizer) -> Any:
    """A tokenizer of `byte_level` as transformers takes it."""
    return PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=core, bos_token=END_TEXT, eos_token=END_TEXT, pad_token=END_TEXT
    )


def _fit(model: Any, batches: Sequence[Sequence[Row]], recipe: Recipe, name: str) -> None:
    """Trains with warm-up, constant learning rate and linear decay."""
    matrices = [parameter for parameter in model.parameters() if parameter.dim() > 1]
    vectors = [parameter for parameter in model.parameters() if parameter.dim() == 1]
    groups: list[dict[str, Any]] = [{"params": matrices}, {"params": vectors, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(
        groups, lr=recipe.learning_rate, betas=recipe.betas, weight_decay=recipe.weight_decay, fused=True
    )
    steps = len(batches)

    def rate(step: int) -> float:
        return min(1.0, (step + 1) / recipe.warmup, (steps - step) / (recipe.decay * steps))

    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, rate)
    progress = Progress(f"training {name}", steps, "steps")
    model.train()
    for batch in batches:
        loss: Any = _loss(model, batch, recipe)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), recipe.clip)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
        progress.advance(note=f"loss {loss.item():.3f}")
    progress.say()


def _loss(model: Any, batch: Sequence[Row], recipe: Recipe) -> torch.Tensor:
    """The weighted mean loss over the tokens with weight; logits are computed for these only."""
    width = max(len(ids) for ids, _ in batch)
    ids = torch.tensor([ids + [END] * (width - len(ids)) for ids, _ in batch])
    weights = torch.tensor([weights + [0.0] * (width - len(weights)) for _, weights in batch])
    weights = weights[:, 1:]
    others = weights == recipe.other_weight
    drawn = torch.rand(weights.shape) < recipe.other_share
    weights = torch.where(others, drawn * weights / recipe.other_share, weights)
    counted = weights > 0
    hidden = model.base_model(ids, use_cache=False).last_hidden_state[:, :-1]
    logits = model.get_output_embeddings()(hidden[counted])
    losses = torch.nn.functional.cross_entropy(logits, ids[:, 1:][counted], reduction="none")
    return (losses * weights[counted]).sum() / weights.sum()
