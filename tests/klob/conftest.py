"""A small snapshot by hand, taken through the stage."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from msgspec import structs
from support.rows import Row, rows
from support.worlds import SCHEMAS, Fact, World

from factdrift.core.keys import read_settings
from factdrift.core.paths import KLOB_TEMPLATES
from factdrift.core.tables import write_parquet
from factdrift.klob.build import build, write_subtask
from factdrift.klob.facts import SnapshotTables
from factdrift.klob.jobs import Candidates, Facts
from factdrift.klob.random_words import WordList
from factdrift.klob.relations import RelationChoice, read_choice
from factdrift.klob.sentences import Plan, plan_of
from factdrift.klob.settings import Settings

DAY = "2023-02-27"
PAGE = 4167410
"""The class of disambiguation pages."""
SETTINGS = read_settings(
    '{"max_pair_share": 1, "max_answer_share": 1, "min_pair_support": 1}', Settings, "klob"
)

WORDS = WordList("file", [f"word{number}" for number in range(3000)], "0" * 64, "test")


@pytest.fixture(scope="session")
def choice() -> RelationChoice:
    return read_choice()


@dataclass
class Snapshot:
    """Facts of one dump; every item has a label `item N` and 50 sitelinks unless said otherwise."""

    facts: Sequence[Fact]
    labels: Mapping[int, str | None] = field(default_factory=dict)
    aliases: Mapping[int, list[str]] = field(default_factory=dict)
    sitelinks: Mapping[int, int] = field(default_factory=dict)
    classes: Mapping[int, list[int]] = field(default_factory=dict)
    superclasses: Mapping[int, list[int]] = field(default_factory=dict)
    inverses: Mapping[int, list[int]] = field(default_factory=dict)
    absent: frozenset[int] = frozenset()
    lacks: frozenset[int] = frozenset()
    """Properties that the dump has not."""
    renamed: Mapping[int, str] = field(default_factory=dict)

    def write(self, folder: Path, choice: RelationChoice) -> None:
        world = World(new=[*self.facts], absent_new=self.absent, superclasses=self.superclasses)
        tables = world.tables("new")
        for row in tables["entities"]:
            item = row["id"]
            row |= {"label": self.labels.get(item, row["label"]), "aliases": self.aliases.get(item, [])}
            row |= {"sitelinks": self.sitelinks.get(item, 50), "classes": self.classes.get(item, [])}
        tables["properties"] = [
            {
                "id": number,
                "label": self.renamed.get(number, choice.label(number)),
                "datatype": "wikibase-item",
                "inverses": self.inverses.get(number, []),
            }
            for number in sorted({*choice.relations, *choice.second_hops} - self.lacks)
        ]
        for name, table in tables.items():
            write_parquet(pa.Table.from_pylist(table, SCHEMAS[name]), folder / f"{name}.parquet")


@dataclass
class Built:
    """The files of a stage run."""

    folder: Path
    plan: Plan

    @property
    def examples(self) -> list[Row]:
        return rows(self.folder / "klob_examples.parquet")

    @property
    def sentences(self) -> list[Row]:
        return rows(self.folder / "klob_sentences.parquet")

    @property
    def meta(self) -> Row:
        meta: Row = json.loads((self.folder / "klob_meta.json").read_text(encoding="utf-8"))
        return meta

    def subtask(self, name: str) -> list[Row]:
        path = self.folder / f"klob_{name}.parquet"
        write_subtask(
            self.folder / "klob_examples.parquet", self.folder / "klob_sentences.parquet", name, path
        )
        return rows(path)

    def reasons(self, table: str) -> dict[tuple[str, ...], str | None]:
        """The ids of each candidate, and why it was dropped; `facts`, `chains`."""
        return {
            tuple(str(row[name]) for name in ("s", "p1", "o1", "p2", "o2") if row[name] is not None): row[
                "dropped_by"
            ]
            for row in rows(self.folder / f"{table}.parquet")
        }


def settings_with(**changes: Any) -> Settings:
    """SETTINGS with other values."""
    return structs.replace(SETTINGS, page_classes=(f"Q{PAGE}",), **changes)


@pytest.fixture
def built(tmp_path: Path, choice: RelationChoice) -> Callable[..., Built]:
    def run(
        snapshot: Snapshot,
        *,
        templates: Path = KLOB_TEMPLATES,
        cases: Path | None = None,
        passes: Path | None = None,
        labels: Sequence[Path] = (),
        folder: str = "built",
        stop_words: frozenset[str] = frozenset(),
        fitted: bool = False,
        quotas: Mapping[int, int | None] | None = None,
        **changes: Any,
    ) -> Built:
        out = tmp_path / folder
        snapshot.write(out, choice)
        changes |= {"source": "mquake"} if cases else {}
        settings = settings_with(grammar="fitted" if fitted else "plain", **changes)
        bucket, files = out / "bucket.parquet", (out / "facts.parquet", out / "chains.parquet")
        Facts(statements=out / "statements.parquet", date=DAY, settings=settings, output=bucket).run()
        tables: dict[str, Any] = {name: out / f"{name}.parquet" for name in ("classes", "properties")}
        tables |= {"facts": [bucket], "entities": [out / "entities.parquet"], "labels": labels}
        Candidates(**tables, cases=cases, settings=settings, out_facts=files[0], out_chains=files[1]).run()
        snapshot_json = out / "snapshot.json"
        snapshot_json.write_text('{"dump": "d", "scope": "s"}')
        plan = plan_of(SnapshotTables(**tables), *files, DAY, settings, templates)
        if quotas is not None:
            worded = plan.templates.of
            plan = plan._replace(quotas={each: quota for each, quota in quotas.items() if each in worded})
        plan = plan._replace(stop_words=stop_words)
        names = ("klob_examples.parquet", "klob_sentences.parquet", "klob_meta.json")
        build(plan, WORDS, passes, snapshot_json, (out / names[0], out / names[1], out / names[2]), 2000, 1)
        return Built(out, plan)

    return run
