"""Runs the loop that asks models on tiny ones, and reads what it writes."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet as pq
import pytest
import torch

from factdrift.cli import main
from factdrift.core.keys import read_settings
from factdrift.evaluation import run
from factdrift.evaluation.ability.record import Ability
from factdrift.evaluation.methods.hyperparameters import Hyper
from factdrift.evaluation.methods.interface import Artefacts, Prepared
from factdrift.evaluation.questions.question import Benchmark
from factdrift.evaluation.run import Files, Run, evaluate
from factdrift.evaluation.session import Session
from factdrift.evaluation.settings import Settings
from factdrift.evaluation.states.edited import Condition
from factdrift.evaluation.tables import TABLES
from factdrift.models.alignment import align
from factdrift.models.loaded import Loaded
from support.commands import files
from support.tiny_models import tiny_model, tiny_tokenizer

Row = dict[str, Any]
CPU = {"device": "cpu", "dtype": "float32", "batch": 2, "length": 24, "answer_tokens": 2}


class Told(NamedTuple):
    """What a run wrote."""

    answers: list[Row]
    edits: list[Row]
    states: list[Row]
    costs: list[dict[str, float]]
    files: Files

    def bytes(self) -> list[bytes]:
        return [path.read_bytes() for path in (self.files.answers, self.files.edits, self.files.states)]

    def of_way(self, way: str) -> list[Row]:
        return [row for row in self.answers if row["way"] == way]

    def logprobs(self) -> dict[tuple[str, str], float | None]:
        """(question, edit) -> log-probability of its only target."""
        rows = self.of_way("loglik")
        return {(row["question"], row["edit"]): (row["logprobs"] or [None])[0] for row in rows}


def settings_with(**keys: Any) -> Settings:
    """The default settings with small batches, and these keys."""
    return read_settings(json.dumps({"batch": 2, "length": 24, **keys}), Settings, "edit")


def state_of(method: str, **values: Any) -> Prepared:
    """A method with these values and nothing else, or `none` or `context`."""
    return Prepared(Hyper(method, "tiny-llama", "", values))


def ask(
    loaded: Loaded,
    benchmark: Benchmark,
    out: Path,
    given: Prepared | Hyper | str = "none",
    *,
    stream: bool = False,
    told: Benchmark | None = None,
    shard: tuple[int, int] = (0, 1),
    ability: Ability | None = None,
    adapters: bool = False,
    artefacts: Artefacts | None = None,
    **settings: Any,
) -> Told:
    """The tables of one model in one state; `settings` are those of the part `edit`.

    `stream`: after each interval, of `told` if the benchmark is another one.
    """
    if isinstance(given, str):
        given = Hyper(given, loaded.name, "", {})
    if isinstance(given, Hyper):
        given = Prepared(given, artefacts or Artefacts())
    chosen = settings_with(**settings)
    condition = Condition(given, "stream" if stream else chosen.regime)
    session = Session(loaded, chosen, ability=ability)
    out.mkdir(parents=True, exist_ok=True)
    files = Files.under(out, "run")._replace(adapters=out / "adapters" if adapters else None)
    costs = evaluate(Run.of(session, benchmark, [condition], 0, told), files, shard)
    tables = (pq.read_table(path).to_pylist() for path in (files.answers, files.edits, files.states))
    return Told(*tables, costs, files)


@contextmanager
def counted(monkeypatch: pytest.MonkeyPatch, dies_at: int | None = None) -> Iterator[list[int]]:
    """The steps that are begun meanwhile; with `dies_at` the job is killed when it begins that many."""
    plain, begun = run._Loop._write, list[int]()

    def write(self: Any, state: Any, number: int) -> None:
        begun.append(number)
        if len(begun) == dies_at:
            raise KeyboardInterrupt
        plain(self, state, number)

    with monkeypatch.context() as patch:
        patch.setattr(run._Loop, "_write", write)
        if dies_at is None:
            yield begun
            return
        with pytest.raises(KeyboardInterrupt):
            yield begun


def chance(loaded: Loaded, text: str, target: str, total: bool = False) -> float:
    """The mean, or total, log-probability of a target after a text, by transformers."""
    one = align(loaded.tokenizer, text, target)
    logits = loaded.model(torch.tensor([one.ids])).logits[0].log_softmax(-1)
    own = logits[one.target - 1 : -1].gather(1, torch.tensor(one.ids[one.target :])[:, None])
    return float(own.sum() if total else own.mean())


def saved(folder: Path, family: str = "llama", **options: Any) -> Path:
    """A tiny model in the layout of transformers."""
    tiny_model(family, **{"dtype": torch.float32, "positions": 192} | options).model.save_pretrained(folder)
    tiny_tokenizer().save_pretrained(folder)
    return folder


class Job(NamedTuple):
    """What `factdrift evaluate` has written under a name."""

    out: Path

    def path(self, form: str) -> Path:
        return self.out.with_name(f"{self.out.name}.{form}")

    def rows(self, table: str = "answers") -> list[Row]:
        return pq.read_table(self.path(f"{table}.parquet")).to_pylist()

    @property
    def about(self) -> Row:
        return json.loads(self.path("json").read_text(encoding="utf-8"))


def command(
    model: Path,
    out: Path,
    benchmark: str,
    questions: Sequence[Path],
    method: str = "none",
    *options: str,
    code: int = 0,
    **settings: Any,
) -> Job:
    """`factdrift evaluate`; asserts its exit status."""
    out.parent.mkdir(parents=True, exist_ok=True)
    line = ["evaluate", "--model", str(model), "--benchmark", benchmark, "--questions", *map(str, questions)]
    line += ["--method", method, "--settings", json.dumps(CPU | settings), "--parts", str(out)]
    line += [f"--out-{table}={out}.{table}.parquet" for table in TABLES]
    assert main([*line, f"--out-run={out}.json", *options]) == code
    return Job(out)


def scoring(jobs: Sequence[Job], to: Path | None = None) -> list[str]:
    """Options of the commands that compute scores from jobs; with a folder that they write to, if any."""
    forms = {"answers": "answers.parquet", "made": "edits.parquet", "states": "states.parquet"}
    read = [
        word
        for option, form in forms.items()
        for word in (f"--{option}", *(str(job.path(form)) for job in jobs))
    ]
    tables = {f"out_{name}": f"{name}.parquet" for name in ("scores", "probes", "written")}
    return read + (files(to, output="", out_costs="costs.json", **tables) if to else [])
