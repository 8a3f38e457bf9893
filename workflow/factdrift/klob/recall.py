"""The recall filter: keeps the candidates whose answers a language model knows.

Candidates are asked about in the order of their draw, relation by relation, until the quota is full. Of
KLoB-c the same examples are chosen as if all had been asked about; of KLoB-r too, unless both the share of a
pair and that of an answer are limited and cut the same pair.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import pyarrow as pa
from duckdb import DuckDBPyConnection as Connection

from factdrift.core.columns import schema_of
from factdrift.core.errors import InputError
from factdrift.core.progress import Progress
from factdrift.core.tables import database, write_parquet
from factdrift.klob.build import chosen, passed
from factdrift.klob.choice import at_most, largest_output
from factdrift.klob.facts import CANDIDATES, FACTS, create_names
from factdrift.klob.schemas import RECALL
from factdrift.klob.sentences import Plan, create_examples, define_wording, sentences_query
from factdrift.wikidata.ids import property_number

if TYPE_CHECKING:
    from factdrift.models.loaded import Loaded

DEMONSTRATIONS = 8
NEW_TOKENS = 16
RULE = "the output begins with the label or an alias"
_BLOCK = 64
"""The least number of candidates that are asked about at a time."""

_POOL = 1000
"""A relation's (or pair's) demonstrations come from as many of its candidates, the first by their draw."""

PASSES = schema_of(*(CANDIDATES.field(name) for name in ("s", "p1", "o1", "p2", "o2")), "recall_pass: bool")
"""One row a candidate that the model was asked about, sorted by its ids."""


class CausalModel:
    """A loaded model as the recall filter asks it: greedily, `budget` tokens at a time.

    Its name, revision and data type go into the table.
    """

    def __init__(self, loaded: Loaded, budget: int):
        self.name, self.revision = loaded.name, loaded.revision
        self.dtype = str(loaded.dtype).removeprefix("torch.")
        self._loaded, self._budget = loaded, budget

    def continued(self, prompts: Sequence[str]) -> list[str]:
        """The text that follows each prompt, up to the model's end-of-text token, NEW_TOKENS tokens at most.

        Raises InputError if a prompt and its answer are longer than the model's context.
        """
        from factdrift.models.alignment import align
        from factdrift.models.writing import Generation, write

        tokenizer = self._loaded.tokenizer
        ids = [align(tokenizer, prompt).ids for prompt in prompts]
        longest = max(map(len, ids), default=0) + NEW_TOKENS
        if longest > self._loaded.spec.positions:
            raise InputError(
                f"klob.recall.model: {self.name} has room for {self._loaded.spec.positions} tokens, and a "
                f"prompt with its answer needs {longest}; take a model with a longer context, or give "
                "shorter demonstrations (klob.recall.demos)"
            )
        begun = [Generation(prompt, NEW_TOKENS) for prompt in ids]
        written = write(self._loaded, begun, budget=self._budget)
        more = getattr(self._loaded.model.generation_config, "eos_token_id", None)
        ends = {tokenizer.eos_token_id, *(more if isinstance(more, list) else [more])}
        before_end = (list(takewhile(lambda token: token not in ends, tokens)) for tokens in written)
        return [tokenizer.decode(tokens, skip_special_tokens=True) for tokens in before_end]


class Sentence(NamedTuple):
    """A sentence of a candidate, with its possible answers. `key`: the template, or a chain's pair."""

    sentence_id: str
    example_id: str
    role: str
    key: str
    text: str
    answers: Sequence[str]
    subject: int
    target: int
    relation: int
    """The relation of which the answer is the object."""


def normalised(text: str) -> str:
    """A text in form NFKC and case-folded, without outer punctuation, leading article and repeated blanks."""

    def bare(text: str) -> str:
        stripped = "".join({sign for sign in text if sign.isspace() or unicodedata.category(sign)[0] == "P"})
        return text.strip(stripped) if stripped else text

    text = bare(" ".join(unicodedata.normalize("NFKC", text).casefold().split()))
    return bare(re.sub(r"^(the|an|a) (?=.)", "", text))


_GOES_ON = re.compile(r"\w|[-\u2010\u2011]\w|[.,]\d")


def matches(output: str, answers: Iterable[str]) -> bool:
    """Whether a normalised output begins with a normalised answer that ends where its word or number does.

    A double name (`Kowalska-Nowak`) or a longer number (`1,000`) goes on after the answer.
    """
    words = normalised(output)
    wanted = {normalised(answer) for answer in answers} - {""}
    return any(words.startswith(answer) and not _GOES_ON.match(words[len(answer) :]) for answer in wanted)


def read_demonstrations(path: Path | None) -> Mapping[int, str]:
    """Relation -> the text before a query, from a file of JSON `{"P30": text}`; empty for None.

    Raises InputError if there is no such file, or if it holds anything else.
    """
    if path is None:
        return {}
    try:
        table = msgspec.json.decode(path.read_bytes(), type=dict[str, str])
        return {property_number(identifier): text for identifier, text in table.items()}
    except FileNotFoundError:
        raise InputError(f"{path}: no such file; correct klob.recall.demos, or leave it empty") from None
    except ValueError as error:
        raise InputError(f"{path}: no JSON map of properties to texts ({error})") from None


def write_recall(
    plan: Plan,
    demonstrations: Mapping[int, str],
    model: CausalModel,
    outputs: tuple[Path, Path],
    memory_mb: int,
    threads: int,
) -> None:
    """Asks the model and writes RECALL and PASSES.

    `demonstrations`: texts by relation that replace the demonstrations made from other candidates; empty for
    none.
    """
    settings = plan.settings
    with database(memory_mb, threads) as db:
        for name, path in (("facts", plan.candidates), ("chains", plan.chains)):
            rows = passed(path, None, plan.quotas)
            db.execute(f"CREATE TEMP TABLE open_{name} AS SELECT * FROM ({rows}) WHERE dropped_by IS NULL")
        items = " UNION ALL ".join(f"SELECT s, o1, o2 FROM open_{name}" for name in ("facts", "chains"))
        create_names(db, f"SELECT DISTINCT unnest([s, o1, o2]) AS id FROM ({items})", plan.tables)
        # Statement ids are not needed here; an empty table satisfies the query.
        db.register("stated", FACTS.empty_table())
        define_wording(db, plan)
        asking = _Asking(db, plan, demonstrations, model)
        for (relation,) in db.sql("SELECT DISTINCT p1 FROM open_facts ORDER BY ALL").fetchall():
            asking.ask("facts", f"p1 = {relation}", plan.quotas[relation])
        if settings.source == "mquake":
            # The limit of an answer holds in each pair, and all pairs are asked about together.
            asking.ask("chains", "true", settings.r_quota if settings.answer_share == 1 else None)
        else:
            most = at_most(settings.max_pair_share, settings.r_quota)
            for first, second in db.sql("SELECT DISTINCT p1, p2 FROM open_chains ORDER BY ALL").fetchall():
                asking.ask("chains", f"p1 = {first} AND p2 = {second}", most)
    asked = sorted(asking.rows.values(), key=lambda row: str(row["sentence_id"]))
    write_parquet(pa.Table.from_pylist(asked, schema=RECALL), outputs[0])
    passes = sorted(asking.passes, key=lambda row: tuple(row[name] or 0 for name in PASSES.names[:5]))
    write_parquet(pa.Table.from_pylist(passes, schema=PASSES), outputs[1])


class _Asking:
    """One run of the filter: its prompts, outputs, and which candidates passed."""

    def __init__(self, db: Connection, plan: Plan, demonstrations: Mapping[int, str], model: CausalModel):
        self.db, self.model, self.settings, self.snapshot = db, model, plan.settings, plan.date
        self.demonstrations = demonstrations
        self.rows: dict[str, dict[str, Any]] = {}
        self.passes: list[dict[str, Any]] = []
        self._pools: dict[str, list[Sentence]] = {}
        self._outputs: dict[str, str] = {}
        self._progress = Progress("recall", unit="sentences")

    def ask(self, table: str, where: str, quota: int | None) -> None:
        """Asks about the candidates of a condition, by their draw, until the quota is full.

        It is full when `quota` of those that passed can be taken and no answer has more than its share.
        """
        answers: Counter[int] = Counter()
        taken, offset, asked, size = 0, 0, 0, 0
        while asked == size and (quota is None or taken < quota):
            size = max(_BLOCK, quota - taken if quota is not None else _BLOCK)
            order = f"ORDER BY draw, s, o1, o2 LIMIT {size} OFFSET {offset}"
            passes = self._ask_block(table, f"SELECT * FROM open_{table} WHERE {where} {order}")
            self.passes += passes
            asked = len(passes)
            answers.update(row["o2"] or row["o1"] for row in passes if row["recall_pass"])
            if quota is not None:
                taken, _ = largest_output(list(answers.values()), quota, self.settings.answer_share)
            offset += size

    def _ask_block(self, table: str, block: str) -> list[dict[str, Any]]:
        """Asks about a block of candidates; their rows of PASSES."""
        sentences = self._sentences(table, block)
        query = (
            "SELECT example_id, s[2:]::INTEGER, n_p1, o1[2:]::INTEGER, n_p2, o2[2:]::INTEGER FROM examples"
        )
        keys = self.db.sql(query).fetchall()
        prompts = [self._prompt(sentence) for sentence in sentences]
        hashes = [hashlib.sha256(prompt.encode()).hexdigest() for prompt, _ in prompts]
        new = {key: text for key, (text, _) in zip(hashes, prompts, strict=True) if key not in self._outputs}
        for key, output in zip(new, self.model.continued(list(new.values())), strict=True):
            self._outputs[key] = output.lstrip(" ").split("\n", 1)[0]
        wordings: dict[str, list[bool]] = defaultdict(list)
        chains: dict[str, bool] = {}
        for sentence, key, (_, demos) in zip(sentences, hashes, prompts, strict=True):
            output = self._outputs[key]
            good = matches(output, sentence.answers)
            if sentence.role == "chain":
                chains[sentence.example_id] = good
            else:
                wordings[sentence.example_id].append(good)
            asked = sentence.sentence_id, self.model.name, self.model.revision, self.model.dtype
            values = (*asked, key, demos, output, good, RULE)
            self.rows[sentence.sentence_id] = dict(zip(RECALL.names, values, strict=True))
        self._progress.advance(len(sentences))
        passes = []
        for example, *ids in keys:
            known = wordings[example]
            least = {"all": len(known), "majority": len(known) // 2 + 1, "any": 1}[self.settings.need]
            passed = sum(known) >= least and chains.get(example, True)
            passes.append(dict(zip(PASSES.names, [*ids, passed], strict=True)))
        return passes

    def _sentences(self, table: str, block: str) -> list[Sentence]:
        """The sentences of a block of candidates, in the order of their draw; creates TEMP TABLE examples."""
        empty = {"facts": "chains", "chains": "facts"}[table]
        self.db.execute(f"CREATE OR REPLACE TEMP TABLE chosen_{table} AS {block}")
        self.db.execute(f"CREATE OR REPLACE TEMP TABLE chosen_{empty} AS SELECT * FROM open_{empty} LIMIT 0")
        create_examples(self.db, chosen(self.settings.source), self.settings.source, self.snapshot)
        written = self.db.sql(
            f"""SELECT w.sentence_id, w.example_id, w.role, w.template_id, w.text,
                list_prepend(w.target_label, coalesce(w.target_aliases, [])), e.s[2:]::INTEGER,
                w.target_id[2:]::INTEGER, CASE WHEN w.role = 'chain' THEN e.n_p2 ELSE e.n_p1 END
            FROM ({sentences_query(self.settings.chain_text)}) w JOIN examples e USING (example_id)
            ORDER BY e.draw, e.example_id, w.place"""
        ).fetchall()
        return [Sentence(*row) for row in written]

    def _prompt(self, sentence: Sentence) -> tuple[str, list[str]]:
        """The prompt for a sentence, and the ids of the sentences that it shows as demonstrations.

        These are the first, by draw, of the same template with another subject and another answer.
        """
        if self.demonstrations:
            before = self.demonstrations.get(sentence.relation, "").rstrip("\n")
            return (f"{before}\n{sentence.text}" if before else sentence.text), []
        # For a chain those of its pair come first, then those of pairs with the same second relation.
        keys = [sentence.key, f">P{sentence.relation}"] if sentence.role == "chain" else [sentence.key]
        shown: dict[str, Sentence] = {}
        for demo in (demo for key in keys for demo in self._pool_of(key)):
            if len(shown) == DEMONSTRATIONS:
                break
            if demo.subject != sentence.subject and demo.target != sentence.target:
                shown.setdefault(demo.sentence_id, demo)
        lines = [f"{demo.text} {demo.answers[0]}" for demo in shown.values()]
        return "\n".join([*lines, sentence.text]), [*shown]

    def _pool_of(self, key: str) -> list[Sentence]:
        """The sentences, in the order of their draw, from which demonstrations are taken.

        `key` is a template (`P103-2`), a pair (`P26>P108`), or `>P108` for all pairs with this second
        relation. Single sentences of KLoB-r are demonstrated by facts of KLoB-c.
        """
        if key not in self._pools:
            numbers = re.findall(r"(?<=P)\d+", key)
            if ">" not in key:
                table, where, role = "facts", f"p1 = {numbers[0]}", "expr"
            else:
                table, where, role = "chains", f"p2 = {numbers[-1]}", "chain"
                if len(numbers) == 2:
                    where += f" AND p1 = {numbers[0]}"
            block = f"SELECT * FROM open_{table} WHERE {where} ORDER BY draw, s, o1, o2 LIMIT {_POOL}"
            drawn = self._sentences(table, block)
            own = (sentence for sentence in drawn if sentence.role == role)
            self._pools[key] = [sentence for sentence in own if role == "chain" or sentence.key == key]
        return self._pools[key]
