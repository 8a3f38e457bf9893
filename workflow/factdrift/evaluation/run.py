"""The loop that asks models the questions of benchmarks, step by step of a plan, in all ways. Imports torch.

Changes are applied by hooks, and the weights of the model never change. Only a user's own method may change
the model in place, which is then restored. Finished steps are kept, so that a killed job continues.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple, Self

import msgspec
import pyarrow as pa

from factdrift.core.columns import Row
from factdrift.core.errors import CannotEdit, InputError
from factdrift.core.fingerprint import of_module
from factdrift.core.owned import check_folder
from factdrift.core.progress import Progress
from factdrift.core.tables import write_parquet
from factdrift.evaluation import plan
from factdrift.evaluation.ability.measure import measured
from factdrift.evaluation.adapters import keep_adapters, move_adapters
from factdrift.evaluation.methods.interface import Edit
from factdrift.evaluation.plan import PlannedQuestion, Step
from factdrift.evaluation.questions.question import WAYS, Benchmark, Way, record_of, ways_of
from factdrift.evaluation.session import Session, excluded, peak_mb
from factdrift.evaluation.states.edited import Condition, at_a_time
from factdrift.evaluation.states.plain import EditedModel, Repeated, State
from factdrift.evaluation.tables import TABLES, Checkpoints, run_id
from factdrift.evaluation.ways import options, written
from factdrift.evaluation.ways.asked import answer_row
from factdrift.models.devices import in_batches

ASK: Mapping[Way, Callable[[Session, Sequence[PlannedQuestion], Any], Iterator[Row]]] = {
    "loglik": options.likelihoods,
    "letter": options.letters,
    "written": written.ask,
}


class Files(NamedTuple):
    """What a run writes."""

    parts: Path
    """A folder for finished steps, removed at the end."""
    answers: Path
    edits: Path
    states: Path
    adapters: Path | None = None
    """A folder to be made with an adapter for each edit that did not fail, or for each group of edits.

    Of several tellings each has a folder in it, with the method's name in the tables.
    """

    @classmethod
    def under(cls, folder: Path, name: str) -> Self:
        """Files of that name in a folder, and a folder of that name for finished steps."""
        return cls(folder / name, *(folder / f"{name}.{table}.parquet" for table in TABLES))


@dataclass(frozen=True)
class Run:
    """The steps of a plan for one model, in one condition after another."""

    session: Session
    benchmark: Benchmark
    steps: Sequence[Step]
    conditions: Sequence[Condition]
    ways: Sequence[Way] = WAYS
    excluded: Mapping[str, str] = field(default_factory=dict)
    """Edit -> why no method is asked about it; the state `none` says so in its table."""

    @classmethod
    def of(
        cls,
        session: Session,
        benchmark: Benchmark,
        conditions: Sequence[Condition],
        seed: int,
        told: Benchmark | None = None,
    ) -> Self:
        """All questions of a benchmark; of edits whose tokens show no borders only where none is made.

        Raises CannotEdit if there is no edit to make, and InputError for a stream of edits that are of none.

        `told`: the stream that has the edits, if the benchmark is another one and asked after each interval.
        """
        left_out = excluded(session.loaded, told or benchmark)
        ways, settings = ways_of(benchmark, session.settings.answer_scoring), session.settings
        if conditions[0].unedited:
            steps = plan.unedited(benchmark, settings.batch * plan.CHUNK)
            return cls(session, benchmark, steps, conditions, ways, left_out)
        asked = benchmark.without(left_out)
        if not (told or asked).edits:
            raise CannotEdit(
                f"{benchmark.name}: there is no edit to make: no table of edits is given (--edits, --facts), "
                f"or the tokens of {session.loaded.name} show the borders of none"
            )
        if conditions[0].persistent:
            stream = told.without(left_out) if told else asked
            if not stream.rows:
                raise InputError(
                    f"--stream: the edits of {benchmark.name} have no intervals; name a table of `edit "
                    "dataset` with --edits"
                )
            steps = plan.by_interval(stream, asked, settings.stream.probes, seed)
            asked = replace(asked, rows=stream.rows)
        else:
            steps = plan.grouped(asked, settings.edits, settings.regime == "independent", seed)
        return cls(session, asked, steps, conditions, ways, left_out)

    def described(self, condition: Condition) -> Row:
        """What the rows depend on, and an id of it."""
        settings = msgspec.to_builtins(self.session.settings)
        shaping = ("answer_", "written_") if "written" in self.ways else ("answer_",)
        asked = {key: value for key, value in settings.items() if key.startswith(shaping)}
        about = {**condition.meta(self.session), **(asked if record_of(self.benchmark.name).options else {})}
        return {"run_id": run_id(about), **about}


def evaluate(run: Run, files: Files, shard: tuple[int, int] = (0, 1)) -> list[dict[str, float]]:
    """Writes ANSWERS, EDITS and STATES of shard k of n; returns the costs of each step.

    Steps are cut before shards, so the rows do not depend on the number of shards. Of several tellings one
    that cannot edit the model is skipped, and the reason printed; a single one raises CannotEdit.
    """
    number, count = shard
    total = len(run.steps)
    mine = range(number * total // count, (number + 1) * total // count)
    kept = Checkpoints(
        files.parts,
        {
            "metas": [condition.meta(run.session) for condition in run.conditions],
            "settings": run.session.settings,
            "steps": run.steps,
            "ways": run.ways,
            "excluded": run.excluded,
            "code": of_module(__name__),
            "adapters": files.adapters is not None,
            "ability": run.session.ability,
        },
    )
    if files.adapters:
        check_folder(files.adapters)  # before any edit, since they are moved there at the end
    done: list[int] = []
    for order, condition in enumerate(run.conditions):
        folder = kept.folder("adapters") / (condition.method if len(run.conditions) > 1 else "")
        loop = _Loop(run, condition, kept, order * total, folder if files.adapters else None)
        try:
            loop.take(mine)
        except CannotEdit as error:
            if len(run.conditions) == 1:
                raise
            print(f"{condition.method} on {run.session.loaded.name}: skipped: {error}", flush=True)
        else:
            done += [order * total + number for number in mine]
    if files.adapters:
        move_adapters(kept.folder("adapters"), files.adapters)
    for name, schema in TABLES.items():
        write_parquet(kept.table(name, schema, done), getattr(files, name))
    costs = kept.costs(done)
    kept.remove()
    return costs


@dataclass(frozen=True)
class _Loop:
    """The steps of a run in one condition."""

    run: Run
    condition: Condition
    kept: Checkpoints
    offset: int
    """The number of the run's first step among those that are kept."""
    adapters: Path | None
    """Where the adapters of finished steps are, until they are moved at the end."""

    def take(self, numbers: Sequence[int]) -> None:
        """Takes the steps with these numbers that are not finished."""
        condition, steps, loaded = self.condition, self.run.steps, self.run.session.loaded
        # Without their folder the adapters of finished steps have been moved, and are made again.
        again = self.adapters is not None and not self.adapters.is_dir()
        hyper = condition.prepared.hyper
        own = hyper.own and not condition.persistent and Repeated(hyper.own)
        sizes = {number: len(steps[number].edits) or len(steps[number].asked) for number in numbers}
        unit = "edits" if any(steps[number].edits for number in numbers) else "questions"
        progress = Progress(f"{condition.method} on {loaded.name}", sum(sizes.values()), unit)
        with progress, condition.opened(loaded) as state:
            finished = {number for number in numbers if self.kept.has(self.offset + number)}
            if state.persistent:
                first = list(takewhile(finished.__contains__, numbers))
                if 0 < len(first) < len(numbers):
                    earlier = [edit for number in first for edit in steps[number].edits]
                    state.resume(self._saved(first[-1]), earlier)
                finished = set(first)
            for number in numbers:
                if again or number not in finished:
                    self._write(state, number)
                if own and number in (numbers[0], numbers[-1]):
                    self._check(state, numbers[0], own)
                progress.advance(sizes[number])
        progress.say()

    def _saved(self, number: int) -> Path:
        return self.kept.folder(f"{number:06d}.state.pt")

    def _write(self, state: State, number: int) -> None:
        """Takes a step and keeps its tables; of a stream also what is then in place."""
        step, session = self.run.steps[number], self.run.session
        tables = self._tables(state, step, self.adapters)
        if not step.edits:  # the model is one and the same in all steps; the first one has its tables
            rows, meta = [], self.condition.meta(session)
            for edit in self.run.benchmark.edits if number == 0 else ():
                reason = self.run.excluded.get(edit.id)
                rows.append(meta | {"edit": edit.id, "excluded": reason, "state": None if reason else 0})
            tables["edits"] = pa.Table.from_pylist(rows, schema=TABLES["edits"])
            tables["states"] = tables["states"][: int(number == 0)]
        if state.persistent:
            state.save(self._saved(number))
        costs = {**session.costs, "edits": len(step.edits), "peak_mb": peak_mb(*session.loaded.devices)}
        if step.interval is not None:
            costs["interval"] = step.interval
        self.kept.write(self.offset + number, tables, costs)
        session.costs.clear()
        if state.persistent:
            self._saved(number - 1).unlink(missing_ok=True)

    def _check(self, state: State, number: int, own: Repeated) -> None:
        """Makes the first edits again; raises InputError if a user's own method gives other answers."""
        step, loaded = self.run.steps[number], self.run.session.loaded
        few = step.edits[:1] if step.alone and own.plain else step.edits
        ids = {edit.id for edit in few}
        asked = [planned for planned in step.asked if planned.edit in ids]
        again = self._tables(state, step._replace(edits=few, asked=asked), None)
        numbers = [self.offset + number]
        first = {name: self.kept.table(name, schema, numbers) for name, schema in TABLES.items()}
        own.check(loaded, [planned.question for planned in asked], first, again)
        self.run.session.costs.clear()

    def _tables(self, state: State, step: Step, adapters: Path | None) -> dict[str, pa.Table]:
        """The three tables of a step, which is halved if its edits are alone and do not fit into memory."""
        block = Block(self.run, self.condition, state, step, adapters)
        if step.alone:
            loaded, hyper = self.run.session.loaded, self.condition.prepared.hyper
            in_batches(step.edits, at_a_time(loaded, hyper, len(step.edits)), block.take)
        else:
            block.take(step.edits)  # halving the edits would change them
        return block.tables()


@dataclass(frozen=True)
class Block:
    """The rows of a step, whose edits are made at once or, if each is alone in a model, some at a time."""

    run: Run
    condition: Condition
    state: State
    step: Step
    adapters: Path | None
    """Where adapters of the edits are written, if they are kept."""
    rows: dict[str, list[Row]] = field(default_factory=lambda: {name: [] for name in TABLES})

    def take(self, edits: Sequence[Edit]) -> None:
        """Makes edits of the step, asks about them, and adds their rows."""
        session, step = self.run.session, self.step
        ids = {edit.id for edit in edits}
        asked = [planned for planned in step.asked if planned.edit in ids] if step.alone else step.asked
        with ExitStack() as applied:
            with session.timed("edit_seconds"):
                placed = applied.enter_context(self.state.apply(edits))
            with session.timed("evaluation_seconds"):
                edited = replace(session, loaded=placed.loaded)
                answers = list(self._answers(edited, placed, asked))
                states = list(self._states(edited, placed))
        if lacking := placed.left_out.get("texts"):
            session.costs["left_out"] = max(session.costs.get("left_out", 0), lacking)
        self.rows["answers"] += [{**row, "state": self._number(row["edit"])} for row in answers]
        self.rows["states"] += states
        self.rows["edits"] += self._edits(placed, edits)
        if self.adapters:
            keep_adapters(session.loaded, self.adapters, edits, placed.made, step.alone)

    def tables(self) -> dict[str, pa.Table]:
        """The rows so far as tables of TABLES."""
        named = {"model": self.run.session.loaded.name, "method": self.condition.method}
        return {
            name: pa.Table.from_pylist([{**named, **row} for row in self.rows[name]], schema=schema)
            for name, schema in TABLES.items()
        }

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {edit.id: number for number, edit in enumerate(self.step.edits)}

    def _number(self, edit: str) -> int:
        """The number of the state that has an edit."""
        return self.step.state + (self._numbers[edit] if self.step.alone else 0)

    def _edits(self, placed: EditedModel, edits: Sequence[Edit]) -> Iterator[Row]:
        """Rows of EDITS."""
        steps, losses = placed.made.steps, placed.made.losses
        meta = self.condition.meta(self.run.session)
        for index, edit in enumerate(edits):
            failed = placed.failed(edit.id)
            row = {**meta, "edit": edit.id, "failed": failed, "state": self._number(edit.id)}
            if (trained := self.condition.trained) is not None:
                row["trained"] = edit.id.partition("-")[0] in trained
            if failed is None and not self.condition.persistent:
                row["steps"] = None if steps is None else int(steps[index])
                row["loss"] = None if losses is None else float(losses[index])
            yield row

    def _answers(
        self, session: Session, placed: EditedModel, asked: Sequence[PlannedQuestion]
    ) -> Iterator[Row]:
        """Rows of ANSWERS without `state`, by way.

        After an edit that failed its questions are not asked, but of a stream, where earlier edits stand.
        """
        edits = {planned.edit for planned in asked} if not self.condition.persistent else ()
        failed = {edit for edit in edits if placed.failed(edit) is not None}
        lost = [planned for planned in asked if planned.edit in failed]
        left = [planned for planned in asked if planned.edit not in failed]
        texts = placed.before([planned.question for planned in left], [planned.edit for planned in left])
        questions = [
            planned._replace(before=text, owner=placed.owner(planned.edit))
            for planned, text in zip(left, texts, strict=True)
        ]
        named = {"benchmark": self.run.benchmark.name, "interval": self.step.interval}
        for way in self.run.ways:
            mine = [planned for planned in questions if way in planned.question.ways]
            for planned, row in zip(mine, ASK[way](session, mine, placed.made.changes), strict=True):
                yield {**named, **row, "edit": planned.edit, "kind": planned.kind}
            for planned in (planned for planned in lost if way in planned.question.ways):
                row = answer_row(planned.question, way, reason="edit_failed")
                yield {**named, **row, "edit": planned.edit, "kind": planned.kind}

    def _states(self, session: Session, placed: EditedModel) -> Iterator[Row]:
        """Rows of STATES of the edits that are in place."""
        made, ability, step = placed.made, session.ability, self.step
        # What only puts a text before a prompt leaves the model as it is; of a stream what acts at the end of
        # a prompt does, too.
        texts_only = made.contexts is not None and not made.deltas
        measures = not texts_only and not (self.state.persistent and made.codebooks)
        drawn = set(ability.edits if ability and step.alone else placed.edits)
        for edits in [[edit] for edit in placed.edits] if step.alone else [placed.edits]:
            left = [edit for edit in edits if placed.failed(edit) is None]
            row: Row = {"interval": step.interval, "edits": len(edits), "failed": len(edits) - len(left)}
            row["state"] = self._number(edits[0]) if step.alone else step.state
            if self.state.persistent:
                first = self.run.benchmark.rows.get(step.edits[0].id, {})
                row |= {name: first.get(name) for name in ("old_date", "new_date")}
                row["so_far"] = sum(len(earlier.edits) for earlier in self.run.steps[: step.state + 1])
                row["state_bytes"], row["entries"] = self.state.size()
            if ability and not step.edits and self.condition.method == "none":
                row["perplexity"] = ability.perplexity
                row["tasks"] = json.dumps(ability.results, sort_keys=True) if ability.results else None
            elif ability and measures and (left or self.state.persistent) and drawn.issuperset(edits):
                owner = placed.owner(left[0] if left else "") if made.deltas else -1
                row |= measured(ability, session.loaded, session.budget, made.deltas, owner)
            yield row
