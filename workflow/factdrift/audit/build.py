"""The audit of a build: what is sampled and drawn, what is read from the dumps, and which checks run."""

import hashlib
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet as pq

from factdrift.audit import (
    kinds,
    of_corpus,
    of_dated,
    of_folders,
    of_klob,
    of_neighbours,
    of_questions,
    of_ripples,
    of_rules,
    of_streams,
    of_tables,
    of_updates,
)
from factdrift.audit.account import AUDIT, rates
from factdrift.audit.of_tables import Fault, Shared
from factdrift.audit.of_updates import Finding, outcomes
from factdrift.audit.reading import AuditedBuild, Reading, read
from factdrift.audit.surface import Guessed, guess, questions_of_items, questions_of_updates
from factdrift.core.columns import Row
from factdrift.core.errors import InputError
from factdrift.core.files import check_same, identity
from factdrift.core.manifests import read_manifest
from factdrift.core.products import no_file

STRATA = {
    kinds.STREAM: ["interval", "dated_by", "chain"],
    kinds.ASOF: ["p", "precision", "holds", "item_id"],
    kinds.CORPUS: ["role", "known_from", "doc"],
    kinds.ASKED: ["kind", "relation", "known_at", "id"],
    kinds.RIPPLES: ["criterion", "kind", "relation", "probe_id"],
}
"""Dataset -> the columns by which its sample is stratified, the coarsest first; the last one is unique."""


class Samples(NamedTuple):
    """The sampled rows of each dataset, and how many rows it has; `lengths`: sentence id -> words."""

    rows: dict[str, list[Row]]
    sizes: dict[str, int]
    every_update: list[Row]
    probed: Mapping[str, Row]
    every_item: list[Row]
    lengths: Mapping[str, int]


def audit(source: AuditedBuild, rows: int, seed: int) -> tuple[list[Row], dict[str, Any]]:
    """The findings, as rows of AUDIT, and a summary: sizes, rates by kind, guesses from the surface.

    `rows`: of each dataset at most, and subjects to draw from the new dump. Raises InputError if a file is
    missing.
    """
    manifest = read_manifest(source.pair / "manifest.json")
    if kinds.UPDATES not in source.files():
        raise no_file(source.pair / "wikifactdiff.parquet")
    for side, dump in (("old", source.old_dump), ("new", source.new_dump)):
        if not dump.is_file():
            raise InputError(
                f"{dump}: no such file; the audit reads the dumps that the build was made from: name them "
                "with --old-dump and --new-dump, or make them again with `snakemake --cores all`"
            )
        check_same(dump, identity(dump), manifest["snapshots"][manifest["dates"][side]]["dump"])
    samples = samples_of(source, manifest, rows, seed)
    reading = read(source, manifest, samples.rows, samples.probed, rows, seed)
    findings = list(_findings(source, samples, reading))
    guesses: dict[str, Guessed] = {}
    for name, questions in (
        (kinds.UPDATES, questions_of_updates(samples.every_update)),
        (kinds.QUESTIONS, questions_of_items(samples.every_item)),
    ):
        if guessed := guess(questions, seed):
            guesses[name] = guessed
            reason = (
                f"{guessed.accuracy:.3f} of {guessed.questions} right "
                f"({guessed.low:.3f} to {guessed.high:.3f}), chance {guessed.chance:.3f}"
            )
            outcome = kinds.FAILED if guessed.leaks else kinds.PASSED
            findings += _named(name, "", "", "", [("surface", outcome, reason)])
    # How many rows the checks of whole tables looked at, and how many folders.
    sizes = samples.sizes | ({kinds.FOLDERS: len(source.folders())} if source.folders() else {})
    whole = {
        (dataset, kind): sizes[dataset]
        for kind, kind_ in kinds.KINDS.items()
        for dataset in kind_.datasets
        if kind_.whole and dataset in sizes
    }
    summary = {
        "seed": seed,
        "sampled": {
            name: {"rows": len(samples.rows[name]), "of": size} for name, size in samples.sizes.items()
        },
        "drawn": reading.drawn_account(),
        "kinds": rates(findings, whole),
        "surface": {name: guessed._asdict() for name, guessed in guesses.items()},
        "unchecked": _unseen(samples.sizes, reading),
    }
    return findings, summary


# --- samples --------------------------------------------------------------------------------------------


def samples_of(source: AuditedBuild, manifest: Mapping[str, Any], rows: int, seed: int) -> Samples:
    """Samples of the products that have been built; of each part of KLoB a third of `rows`."""
    files = source.files()
    samples: dict[str, list[Row]] = {}
    sizes: dict[str, int] = {}

    def take(dataset: str, path: Path, strata: Sequence[Sequence[str]], number: int = rows) -> None:
        samples.setdefault(dataset, []).extend(rows_at(path, chosen(strata, number, seed)))
        sizes[dataset] = sizes.get(dataset, 0) + len(strata)

    columns = ["subject", "relation", "objects", "is_replace", "split"]
    updates: list[Row] = pq.read_table(files[kinds.UPDATES], columns=columns).to_pylist()
    strata = [(rule_of(row), row["relation"]["id"], row["subject"]["id"]) for row in updates]
    take(kinds.UPDATES, files[kinds.UPDATES], strata)
    if kinds.REPLACEMENTS in files:
        samples[kinds.REPLACEMENTS] = []
        sizes[kinds.REPLACEMENTS] = pq.read_metadata(files[kinds.REPLACEMENTS]).num_rows
    items: list[Row] = []
    ripple = manifest["configuration"]["tempripple"]
    if kinds.QUESTIONS in files and ripple["source"] == "sparql" and ripple["endpoint"] != "local":
        print(f"tempripple: not audited, because it comes from {ripple['endpoint']}", file=sys.stderr)
    elif kinds.QUESTIONS in files:
        items = pq.read_table(files[kinds.QUESTIONS]).to_pylist()
        keys = [(str(row["task"]), str(row["hop"]), row["asked_p"], row["item_id"]) for row in items]
        take(kinds.QUESTIONS, files[kinds.QUESTIONS], keys)
    lengths: dict[str, int] = {}
    for path in source.klob():
        examples = pq.read_table(path, columns=["example_id", "p1", "p2", "sentences"]).to_pylist()
        strata = [(row["p1"] or "", row["p2"] or "", row["example_id"]) for row in examples]
        take(kinds.KLOB, path, strata, max(1, rows // 3))
        lengths |= {
            sentence["sentence_id"]: sentence["n_tokens"] for row in examples for sentence in row["sentences"]
        }
    for dataset, columns in STRATA.items():
        if dataset in files:
            table = pq.read_table(files[dataset], columns=columns).to_pylist()
            of_rows = [["" if row[name] is None else row[name] for name in columns] for row in table]
            take(dataset, files[dataset], of_rows)
    probed = {row["update"] for row in samples.get(kinds.RIPPLES, ())}
    positions = [index for index, row in enumerate(updates) if _update_of(row) in probed]
    about = {_update_of(row): row for row in rows_at(files[kinds.UPDATES], positions)}
    return Samples(samples, sizes, updates, about, items, lengths)


def chosen(strata: Sequence[Sequence[str]], rows: int, seed: int) -> list[int]:
    """The positions of `rows` rows, or of all if there are fewer, ascending.

    `strata`: the keys of each row, the coarsest first and last one that is unique. A systematic sample: the
    rows in the order of their strata, within a stratum in the order of a seeded hash, every n-th of them from
    a seeded start. Each row has the same chance, so shares in the sample estimate shares in the dataset.
    """
    if rows >= len(strata):
        return list(range(len(strata)))
    ordered = sorted(
        range(len(strata)), key=lambda position: (*strata[position][:-1], rank_of(seed, strata[position][-1]))
    )
    step = len(strata) / rows
    start = int(rank_of(seed, "start")[:12], 16) / 16**12 * step
    return sorted(ordered[int(start + step * number)] for number in range(rows))


def rank_of(seed: int, text: str) -> str:
    """The position of a name in the order that a seed gives, as hexadecimal digits."""
    return hashlib.sha256(f"{seed}|{text}".encode()).hexdigest()


def rows_at(path: Path, positions: Sequence[int]) -> Iterator[Row]:
    """The rows of a Parquet file at ascending positions; the file is read in batches."""
    begin, waiting = 0, list(positions)
    for batch in pq.ParquetFile(path).iter_batches(batch_size=4096):
        end = begin + batch.num_rows
        inside = [position - begin for position in waiting if position < end]
        waiting = waiting[len(inside) :]
        if inside:
            yield from batch.take(inside).to_pylist()
        begin = end


def _update_of(row: Row) -> str:
    """The name of an update, as probes have it."""
    return f"{row['subject']['id']}-{row['relation']['id']}"


def rule_of(row: Row) -> str:
    """The rules of an update's objects."""
    return " ".join(sorted({str(value["rule"]) for value in row["objects"]}))


# --- checks ---------------------------------------------------------------------------------------------

NAMES: dict[str, Callable[[Row], tuple[str, str, str]]] = {
    kinds.UPDATES: lambda row: (_update_of(row).replace("-", " "), row["relation"]["id"], rule_of(row)),
    kinds.QUESTIONS: lambda row: (row["item_id"], row["asked_p"], f"task {row['task']} hop {row['hop']}"),
    kinds.KLOB: lambda row: (row["example_id"], row["p1"] or "", row["subtask"]),
    kinds.STREAM: lambda row: (of_streams.name_of(row), row["relation"]["id"], rule_of(row)),
    kinds.ASOF: lambda row: (row["item_id"], row["asked_p"], row["precision"]),
    kinds.CORPUS: lambda row: (row["doc"], "", row["role"]),
    kinds.ASKED: lambda row: (row["id"], row["relation"], row["kind"]),
    kinds.RIPPLES: lambda row: (row["probe_id"], row["relation"], row["criterion"]),
}
"""Dataset -> name, relation and rule of a row in the findings."""


def _findings(source: AuditedBuild, samples: Samples, reading: Reading) -> Iterator[Row]:
    """Yields the findings about the sampled rows and the whole tables, but those from the surface."""
    files, configuration, dumps = source.files(), reading.configuration, reading.dumps

    def rows(dataset: str, check: Callable[[Row], Iterable[Finding]]) -> Iterator[Row]:
        for row in samples.rows[dataset]:
            yield from _named(dataset, *NAMES[dataset](row), _until_unreadable(check, row))

    def repeated(dataset: str, *columns: str) -> Iterator[Row]:
        return _faults(dataset, "twice", of_tables.repeated(files[dataset], columns))

    shared = Shared(files[kinds.UPDATES])
    yield from rows(
        kinds.UPDATES,
        lambda row: chain(
            of_updates.check_update(row, dumps, shared),
            of_rules.against_rules(row, reading.groups),
            of_neighbours.check_neighbours(row, dumps, reading.nearby),
        ),
    )
    keys = {(row["subject"]["id"], row["relation"]["id"]) for row in samples.every_update}
    narrowed = any(configuration["only"].values())
    for key, finding in of_rules.missing(reading.groups, reading.drawn, keys, narrowed):
        yield from _named(kinds.UPDATES, " ".join(key), key[1], "", [finding])
    yield from repeated(kinds.UPDATES, "subject.id", "relation.id")
    yield from _faults(kinds.UPDATES, "twice", of_tables.same_objects(samples.every_update))
    yield from _faults(kinds.UPDATES, "split", of_tables.split_subjects(samples.every_update))
    yield from _faults(kinds.UPDATES, "ambiguous", of_tables.ambiguous(files[kinds.UPDATES]))
    if kinds.REPLACEMENTS in samples.sizes:
        undersample, seed = configuration["undersample"], configuration["seed"]
        faults = of_tables.replacements(files[kinds.UPDATES], files[kinds.REPLACEMENTS], undersample, seed)
        yield from _faults(kinds.REPLACEMENTS, "replacements", faults)
    if kinds.QUESTIONS in samples.sizes:
        yield from repeated(kinds.QUESTIONS, "item_id")
    if kinds.ASOF in samples.sizes:
        yield from repeated(kinds.ASOF, "item_id")
        yield from repeated(kinds.ASOF, "question", "answer_label")
    for path in source.klob():
        yield from _faults(kinds.KLOB, "twice", of_tables.repeated(path, ("example_id",)))
    if kinds.QUESTIONS in samples.sizes:
        ripples = reading.ripples(samples.every_item)
        yield from rows(kinds.QUESTIONS, lambda row: of_questions.check_item(row, ripples))
        items = {row["item_id"]: row for row in samples.every_item}
        for due, finding in of_questions.missing_items(ripples, sorted(reading.drawn), items):
            yield from _named(kinds.QUESTIONS, due.item_id, due.asked[1], f"hop {due.hops}", [finding])
    if kinds.KLOB in samples.sizes:
        snapshot = reading.klob(samples.lengths)
        yield from rows(kinds.KLOB, lambda row: of_klob.check_example(row, snapshot))
    if kinds.STREAM in samples.sizes:
        yield from _faults(kinds.STREAM, "pair", of_streams.pairs(files[kinds.STREAM], source.pair.parent))
        faults = chain.from_iterable(map(of_streams.links, of_streams.linked(files[kinds.STREAM])))
        yield from _faults(kinds.STREAM, "link", faults)
        yield from repeated(kinds.STREAM, "chain", "interval")
        yield from rows(kinds.STREAM, lambda row: outcomes("dated", of_streams.dates(row, dumps)))
    if kinds.ASOF in samples.sizes:
        others = reading.has_other_dates(files)
        yield from rows(kinds.ASOF, lambda row: of_dated.check_question(row, dumps, others))
    if kinds.CORPUS in samples.sizes:
        yield from repeated(kinds.CORPUS, "doc")
        yield from rows(kinds.CORPUS, lambda row: of_corpus.check_document(row, dumps))
    if kinds.ASKED in samples.sizes and kinds.CORPUS in files:
        yield from repeated(kinds.ASKED, "id")
        others = reading.has_other_dates(files)
        stated = of_corpus.stated_in_documents(files[kinds.CORPUS], samples.rows[kinds.ASKED])
        yield from rows(kinds.ASKED, lambda row: of_corpus.check_question(row, dumps, others, stated))
    if kinds.RIPPLES in samples.sizes:
        yield from repeated(kinds.RIPPLES, "probe_id")
        yield from rows(
            kinds.RIPPLES, lambda row: of_ripples.check_probe(row, samples.probed.get(row["update"]), dumps)
        )
    for folder in source.folders():
        yield from _faults(kinds.FOLDERS, "folder", of_folders.folder(folder, source.pair))
    if source.folders():
        yield from _faults(kinds.FOLDERS, "folder", of_folders.copies(source.pair))


def _unseen(datasets: Iterable[str], reading: Reading) -> dict[str, dict[str, str]]:
    """What no check sees of these datasets in this build, and why."""
    unseen = {name: dict(kinds.UNSEEN[name]) for name in datasets}
    updates = unseen[kinds.UPDATES]
    if reading.configuration["pageviews"] != "none":
        updates["subject_popularity"] = "the page views are not read"
    if reading.nearby.documents is None:
        updates["neighborhood.dist, nearest"] = "the old dump has too many articles to compare all of them"
    if not reading.dumps.templates.are_known:
        updates["prompts"] = (
            "only the subject and the blank are checked: the templates are not the bundled ones"
        )
    return {name: reasons for name, reasons in unseen.items() if reasons}


def _named(dataset: str, name: str, relation: str, rule: str, findings: Iterable[Finding]) -> Iterator[Row]:
    """Yields findings as rows of AUDIT; that about a dataset as a whole has a row without a name."""
    for finding in findings:
        yield dict(zip(AUDIT.names, (dataset, name, relation, rule, *finding), strict=True))


def _until_unreadable(check: Callable[[Row], Iterable[Finding]], row: Row) -> Iterator[Finding]:
    """The findings of a check, the last of which says whether it came to the end of the row."""
    try:
        yield from check(row)
    except of_tables.UNREADABLE as error:
        reason = "a value is missing, or lists do not fit together, so that not all of the row is checked"
        yield "readable", kinds.FAILED, f"{reason}: {type(error).__name__}: {error}"
    else:
        yield "readable", kinds.PASSED, ""


def _faults(dataset: str, kind: str, faults: Iterable[Fault]) -> Iterator[Row]:
    """The faults of a whole table, or one finding without a row that it has none."""
    listed = list(of_tables.until_damage(iter(faults), ""))
    for fault in listed:
        yield from _named(dataset, fault.row, fault.relation, "", [(kind, kinds.FAILED, fault.reason)])
    if not listed:
        yield from _named(dataset, "", "", "", [(kind, kinds.PASSED, "")])
