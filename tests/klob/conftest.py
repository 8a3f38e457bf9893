"""A small snapshot by hand, taken through the stage."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.worlds import Fact

from factdrift.core.tables import write_parquet
from factdrift.klob.build import Candidates, Choice, Plan, build, write_subtask
from factdrift.klob.candidates import Hops, Inputs, Switches, write_candidates
from factdrift.klob.facts import DEATH, write_facts
from factdrift.klob.relations import Method, check_properties, inverses_of, read_method, second_hops
from factdrift.klob.sentences import Wording
from factdrift.klob.templates import read_templates
from factdrift.klob.word_lists import WordList
from factdrift.wikidata.tables import ENTITIES, PROPERTIES, STATEMENTS
from factdrift.words.names import read_names

ROOT = Path(__file__).resolve().parents[2]
RESOURCES = ROOT / "resources" / "klob"
PHRASES = ROOT / "resources" / "words" / "noun_phrases.tsv"
TEMPLATES = RESOURCES / "klob_templates.tsv"
DAY = 20230227
PAGE = 4167410
"""The class of disambiguation pages."""

WORDS = WordList("file", [f"word{number}" for number in range(3000)], "0" * 64, "test")

Row = dict[str, Any]


def rows(path: Path) -> list[Row]:
    found: list[Row] = pq.read_table(path).to_pylist()
    return found


@pytest.fixture(scope="session")
def method() -> Method:
    return read_method(RESOURCES, PHRASES)


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

    def write(self, folder: Path, method: Method) -> None:
        items = {fact.s for fact in self.facts} | {
            fact.o for fact in self.facts if isinstance(fact.o, int) and fact.o > 0
        }
        statements = [fact.row(place, place, 7) for place, fact in enumerate(self.facts)]
        statements.sort(key=lambda row: (row["subject"], row["position"]))
        entities = [
            dict.fromkeys(ENTITIES.names)
            | {
                "id": item,
                "label": self.labels.get(item, f"item {item}"),
                "aliases": self.aliases.get(item, []),
                "sitelinks": self.sitelinks.get(item, 50),
                "revision": 1000 + item,
                "classes": self.classes.get(item, []),
                "superclasses": [],
                "whole": True,
            }
            for item in sorted(items - self.absent)
        ]
        properties = [
            dict.fromkeys(PROPERTIES.names)
            | {
                "id": number,
                "label": self.renamed.get(number, method.label(number)),
                "datatype": "wikibase-item",
                "inverses": self.inverses.get(number, []),
            }
            for number in sorted({*method.relations, *method.second_hops} - self.lacks)
        ]
        class_schema = pa.schema(
            [("id", pa.int32()), ("label", pa.string()), ("superclasses", pa.list_(pa.int32()))]
        )
        classes = [
            {"id": item, "label": None, "superclasses": parents}
            for item, parents in self.superclasses.items()
        ]
        for name, schema, table in (
            ("statements", STATEMENTS, statements),
            ("entities", ENTITIES, entities),
            ("properties", PROPERTIES, properties),
            ("classes", class_schema, classes),
        ):
            write_parquet(pa.Table.from_pylist(table, schema=schema), folder / f"{name}.parquet")


@dataclass
class Built:
    """The files of a stage run."""

    folder: Path
    inputs: Inputs
    candidates: Candidates
    wording: Wording

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

    def plan(self, choice: Choice) -> Plan:
        return Plan(self.inputs, self.candidates, self.wording, choice)

    def reasons(self, table: str) -> dict[tuple[str, ...], str | None]:
        """The ids of each candidate, and why it was dropped; `facts`, `chains`."""
        return {
            tuple(str(row[name]) for name in ("s", "p1", "o1", "p2", "o2") if row[name] is not None): row[
                "dropped_by"
            ]
            for row in rows(self.folder / f"{table}.parquet")
        }


Build = Callable[..., Built]


def choice(method: Method, **changes: Any) -> Choice:
    defaults: dict[str, Any] = {
        "quotas": {number: relation.examples for number, relation in method.relations.items()},
        "chain_quota": 9548,
        "max_pair_share": 1.0,
        "max_answer_share": 1.0,
        "chain_text": "np",
        "random_size": None,
        "seed": 0,
        "snapshot": "2023-02-27",
    }
    return Choice(**defaults | changes)


@pytest.fixture
def built(tmp_path: Path, method: Method) -> Build:
    def run(
        snapshot: Snapshot,
        switches: Switches | None = None,
        *,
        second_hop: str = "mquake44",
        templates: Path = TEMPLATES,
        chains: Path | None = None,
        passes: Path | None = None,
        words: WordList = WORDS,
        labels: Sequence[Path] = (),
        folder: str = "built",
        stop_words: frozenset[str] = frozenset(),
        fitted: bool = False,
        **changes: Any,
    ) -> Built:
        out = tmp_path / folder
        snapshot.write(out, method)
        wanted = sorted({*method.relations, *second_hops(method, second_hop), DEATH})
        facts = out / "bucket.parquet"
        write_facts(out / "statements.parquet", wanted, DAY, facts)
        inputs = Inputs([facts], [out / "entities.parquet"], out / "classes.parquet", labels)
        write_candidates(
            inputs,
            Hops(
                method.relations,
                second_hops(method, second_hop),
                inverses_of(out / "properties.parquet", method),
            ),
            (switches or Switches(min_pair_support=1))._replace(page_classes=[PAGE]),
            (out / "facts.parquet", out / "chains.parquet"),
        )
        wording = Wording(
            read_templates(templates, method.relations),
            method,
            check_properties(out / "properties.parquet", method, False),
            stop_words,
            read_names() if fitted else None,
        )
        candidates = Candidates(
            out / "facts.parquet",
            chains or out / "chains.parquet",
            passes,
            "mquake" if chains else "snapshot",
        )
        given = choice(method, **changes)
        of = {number: quota for number, quota in given.quotas.items() if number in wording.templates.of}
        build(
            Plan(inputs, candidates, wording, given._replace(quotas=of)),
            words,
            {"seed": 0},
            (out / "klob_examples.parquet", out / "klob_sentences.parquet", out / "klob_meta.json"),
        )
        return Built(out, inputs, candidates, wording)

    return run
