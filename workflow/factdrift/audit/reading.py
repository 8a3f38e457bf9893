"""What an audit reads from both dumps: the lines that the sampled rows and the drawn subjects need."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet as pq

from factdrift.audit import (
    kinds,
    of_corpus,
    of_dated,
    of_klob,
    of_neighbours,
    of_questions,
    of_ripples,
    of_rules,
    of_updates,
)
from factdrift.audit.dates import day_of
from factdrift.audit.lines import Entity, read_entities
from factdrift.audit.of_questions import Ripples
from factdrift.audit.of_tables import of_rows, records
from factdrift.audit.phrases import read_method
from factdrift.audit.ripple_items import Key, derive
from factdrift.audit.sentences import Templates
from factdrift.audit.survey import DATED, OTHER, Survey, survey
from factdrift.audit.values import entity_of
from factdrift.core.columns import Row
from factdrift.core.errors import InputError
from factdrift.core.files import read_tsv
from factdrift.core.text import clean

Wanted = dict[str, frozenset[str] | None]


class AuditedBuild(NamedTuple):
    """What is audited: the folder of the pair of dates, both dumps, tables of labels that users supply.

    `beside`: products outside that folder: those of the stream, and the folder `publish`.
    """

    pair: Path
    old_dump: Path
    new_dump: Path
    labels: Sequence[Path] = ()
    beside: Sequence[Path] = ()

    def files(self) -> dict[str, Path]:
        """Dataset -> its table, for those that have been built; of KLoB that of the first part."""
        products = {
            kinds.UPDATES: self.pair / "wikifactdiff.parquet",
            kinds.REPLACEMENTS: self.pair / "wfd_repl.parquet",
            kinds.QUESTIONS: self.pair / "tempripple" / "tr_items.parquet",
            kinds.RIPPLES: self.pair / "ripples.parquet",
            kinds.KLOB: next(iter(self.klob()), self.pair / "klob_c.parquet"),
        }
        products |= {path.stem: path for path in self.beside if path.stem in kinds.OF_DATES}
        return {name: path for name, path in products.items() if path.is_file()}

    def klob(self) -> list[Path]:
        """The parts of KLoB that have been built."""
        return [path for part in "cru" if (path := self.pair / f"klob_{part}.parquet").is_file()]

    def folders(self) -> list[Path]:
        """The published folders."""
        return [
            folder
            for path in self.beside
            if path.is_dir()
            for folder in sorted(path.iterdir())
            if folder.is_dir() and folder.name in kinds.DATASETS
        ]


class Reading(NamedTuple):
    """The lines of both dumps as the checks see them, and what the rules make of the subjects."""

    source: AuditedBuild
    manifest: Mapping[str, Any]
    dumps: of_updates.Dumps
    surveys: tuple[Survey, Survey]
    drawn: Set[str]
    subjects: Mapping[str, Entity]
    groups: of_rules.Groups
    nearby: of_neighbours.Nearby
    items: Sequence[Row]

    @property
    def configuration(self) -> Mapping[str, Any]:
        keys: Mapping[str, Any] = self.manifest["configuration"]
        return keys

    def drawn_account(self) -> dict[str, Any]:
        """How many subjects were drawn from the new dump, and how many updates they must have."""
        _, new = self.surveys
        return {
            "strata": {
                name: {"subjects": len(ids), "of": new.articles[name]} for name, ids in new.drawn.items()
            },
            "updates": sum(key[0] in self.drawn for key in self.groups.due),
            "undecided": sum(key[0] in self.drawn for key in self.groups.open),
        }

    def ripples(self, items: Sequence[Row]) -> Ripples:
        """TempRIPPLE's items of the sampled and of the drawn timelines, worked out from the new dump."""
        folder, settings = self.source.pair / "tempripple", self.configuration["tempripple"]
        method = read_method(settings, self.manifest["dates"]["new"])
        keys: set[Key] = {
            (row["s"], row["p"]) for row in self.items if row["s"] and row["p"] in method.mutable
        }
        keys |= {(name, relation) for name in self.drawn for relation in method.mutable}
        due, reasons, graph, dump = derive(
            self.subjects,
            [] if method.unsupported else keys,
            method,
            self.surveys[1],
            self.dumps.supplied,
            lambda wanted: read_entities(self.source.new_dump, wanted),
        )
        for name, line in self.dumps.new.items():
            dump.setdefault(name, line)
        tables = _by(folder / "tr_facts.parquet", "fact_id"), _by(folder / "tr_related.parquet", "rel_id")
        texts = of_questions.asked_and_answers(items)
        same_timeline = settings["distractors"]["same_timeline"]
        return Ripples(due, reasons, method, graph, dump, *tables, *texts, same_timeline)

    def klob(self, lengths: Mapping[str, int]) -> of_klob.Snapshot:
        """The snapshot that KLoB is made of."""
        settings = self.configuration["klob"]
        which = settings["snapshot"]
        day = day_of(self.manifest["dates"][which])
        return of_klob.Snapshot(self.dumps.side(which), day, settings, self.dumps.supplied, lengths)

    def has_other_dates(self, files: Mapping[str, Path]) -> bool:
        """Whether the stream has other dumps than the two that are read; without its table it may have."""
        if kinds.STREAM not in files:
            return True
        table = pq.read_table(files[kinds.STREAM], columns=["old_date", "new_date"])
        dates = {date for name in ("old_date", "new_date") for date in table[name].to_pylist()}
        return not dates <= set(self.manifest["dates"].values())


def read(
    source: AuditedBuild,
    manifest: Mapping[str, Any],
    samples: Mapping[str, Sequence[Row]],
    probed: Mapping[str, Row],
    rows: int,
    seed: int,
) -> Reading:
    """Reads each dump twice, the old one once more where similarities are checked.

    `probed`: the rows of the dataset that probes of ripples are about, by the names of their updates.

    The first reading draws `rows` subjects with a date since T_old and a quarter as many others, and keeps
    their lines and those of the sampled rows' subjects; the second one reads what these lines name.
    """
    configuration = manifest["configuration"]
    t_old, t_new = (day_of(manifest["dates"][which]) for which in ("old", "new"))
    how = of_rules.method_of(configuration, t_old, t_new)
    about: dict[str, Callable[[Row], Iterable[str | None]]] = {
        **dict.fromkeys((kinds.UPDATES, kinds.STREAM), lambda row: [row["subject"]["id"]]),
        **dict.fromkeys((kinds.QUESTIONS, kinds.ASOF), lambda row: [row["s"]]),
        kinds.CORPUS: of_corpus.subjects_of_document,
        kinds.ASKED: lambda row: [of_corpus.subject_of_question(row)],
        kinds.RIPPLES: lambda row: of_ripples.whole_lines(row, probed.get(row["update"])),
    }
    named = (of_rows(samples.get(name, ()), subjects) for name, subjects in about.items())
    wanted_lines = set(filter(None, chain.from_iterable(named)))
    new_survey = survey(source.new_dump, t_old[0], wanted_lines, {DATED: rows, OTHER: rows // 4}, seed)
    drawn = frozenset().union(*new_survey.drawn.values())
    surveys = survey(source.old_dump, t_old[0], wanted_lines | drawn), new_survey
    subjects = [{name: Entity(line, None) for name, line in of_dump.lines.items()} for of_dump in surveys]
    wanted: list[Wanted] = [{}, {}]
    for name in {object_ for side in subjects for line in side.values() for object_ in _objects(line)}:
        for side in wanted:
            side[name] = frozenset()
    method = configuration["method"]
    birth = {name: name == method["publication_property"] for name in method["creation_properties"]}
    _want_of_samples(wanted, samples, configuration, frozenset(birth))
    lines = [
        read_entities(path, {name: relations for name, relations in side.items() if name not in known})
        for path, side, known in zip((source.old_dump, source.new_dump), wanted, subjects, strict=True)
    ]
    supplied = read_labels(source.labels)
    worlds = [of_rules.dump_of(*sides, how) for sides in zip(lines, subjects, surveys, strict=True)]
    both = [{**side, **known} for side, known in zip(lines, subjects, strict=True)]
    groups = of_rules.groups_of(worlds[0], worlds[1], how, (both[0], both[1]), supplied)
    dumps = of_updates.Dumps(
        *(both[0], both[1], t_old, t_new, configuration["variant"], birth, supplied),
        Templates(configuration["verbalizer"] == "bundled", configuration["verbalization"]["templates"]),
        (configuration["seed"], configuration["test_share"]),
        configuration["pageviews"] == "none",
        new_survey.lines,
    )
    small = sum(surveys[0].articles.values()) <= of_neighbours.MOST
    facing, paths = configuration["neighbors"], (source.old_dump, source.new_dump)
    nearby = of_neighbours.Nearby(
        of_neighbours.Documents(paths, surveys, how, t_old) if small else None,
        _pool(source.pair / "wfd_repl.parquet"),
        (facing["entities"], facing["facts"], facing["random"]),
    )
    items = samples.get(kinds.QUESTIONS, [])
    return Reading(source, manifest, dumps, surveys, drawn, subjects[1], groups, nearby, items)


def _want_of_samples(
    wanted: list[Wanted],
    samples: Mapping[str, Sequence[Row]],
    configuration: Mapping[str, Any],
    birth: frozenset[str],
) -> None:
    """Adds what the sampled rows name to the entities that are wanted of both dumps."""
    for side in wanted:
        _want(side, of_rows(samples[kinds.UPDATES], lambda row: of_updates.named_entities(row, birth)))
        _want(side, of_rows(samples.get(kinds.ASOF, ()), of_dated.named_entities))
        _want(side, of_rows(samples.get(kinds.ASKED, ()), of_corpus.named_in_question))
        _want(side, of_rows(samples.get(kinds.RIPPLES, ()), of_ripples.named_entities))
    nearby = [*of_rows(samples[kinds.UPDATES], of_neighbours.named)]
    _want(wanted[0], nearby)
    _want(wanted[1], ((name, frozenset()) for name, _ in nearby))
    facts = of_rows(samples.get(kinds.KLOB, ()), of_klob.named_entities)
    _want(wanted[configuration["klob"]["snapshot"] == "new"], facts)
    _want(wanted[1], of_rows(samples.get(kinds.QUESTIONS, ()), of_questions.named_entities))


def _objects(line: Entity) -> Iterator[str]:
    """The items that a line states, and the units of its amounts."""
    for group in line.claims.values():
        for claim in group:
            if claim.mainsnak.snaktype != "value":
                continue
            name = entity_of(claim.mainsnak)
            if name is None and claim.mainsnak.value_datatype == "quantity":
                name = str(claim.mainsnak.datavalue.value.get("unit", "1")).rpartition("/")[2]
            if name and name[:1] == "Q":
                yield name
    yield from (f"Q{number}" for number in line.classes)


def _want(wanted: Wanted, named: Iterable[tuple[str | None, frozenset[str] | None]]) -> None:
    for entity, relations in named:
        if entity is None:
            continue
        before = wanted.get(entity, frozenset())
        wanted[entity] = None if before is None or relations is None else before | relations


def _pool(path: Path) -> of_neighbours.Pool | None:
    """The nearest facts of the replacements; None without the table."""
    if not path.is_file():
        return None
    facts = of_rows(records(path, ["neighborhood"]), lambda row: row["neighborhood"])
    return {
        (fact["subject"]["id"], fact["relation"]["id"], value["statement"]): value["object"]["id"]
        for fact in facts
        for value in fact["objects"]
    }


def _by(path: Path, column: str) -> dict[str, Row]:
    if not path.is_file():
        raise InputError(f"{path}: no such file; it is built with tr_items.parquet, which the audit found")
    return {row[column]: row for row in pq.read_table(path).to_pylist()}


def read_labels(tables: Iterable[Path]) -> dict[str, str]:
    """The labels that users supply, the first of each entity."""
    labels: dict[str, str] = {}
    for path in tables:
        for row in read_tsv(path):
            if label := clean(row["label"] or ""):
                labels.setdefault(row["id"], label)
    return labels
