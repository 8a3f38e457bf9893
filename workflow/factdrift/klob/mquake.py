"""Chains of KLoB-r from a file in MQuAKE's format, instead of from a snapshot.

A file is a JSON list of cases with `orig.triples` (or `orig_triples`, in the remastered layout), their
labels, and the aliases of each hop's answer. Only chains from before the edits are read.
"""

import hashlib
import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
from msgspec import Struct, ValidationError

from factdrift.core.columns import schema_of
from factdrift.core.errors import InputError
from factdrift.core.tables import write_parquet
from factdrift.klob.facts import CANDIDATES
from factdrift.klob.relations import RelationChoice
from factdrift.wikidata.ids import entity_number

MQUAKE = schema_of(
    *CANDIDATES, "s_label o1_label o2_label: string, o1_aliases o2_aliases: [string], question: string"
)
"""CANDIDATES with the file's names of the three items; `question` is null unless it asks for this chain."""

_Triple = tuple[str, str, str]


class _Hop(Struct):
    answer_alias: list[str] | None = None


class _Before(Struct, frozen=True):
    triples: list[_Triple] | None = None
    triples_labeled: list[_Triple] | None = None


class _Case(Struct):
    case_id: Any = None
    orig: _Before = _Before()
    orig_triples: list[_Triple] | None = None
    orig_triples_labeled: list[_Triple] | None = None
    single_hops: list[_Hop] | None = None
    questions: list[str] | None = None


def write_mquake(path: Path, choice: RelationChoice, chain_text: str, seed: int, output: Path) -> int:
    """Writes MQUAKE, sorted by ids: consecutive triples of a case whose first object is the second's subject.

    `dropped_by` is `relation` if a hop is none of MQuAKE's that the choice has, `no_question` if `chain_text`
    is `question` and the case has more than two hops. Returns the number of chains. Raises InputError that
    names file and case if the file has another layout.
    """
    chains: dict[tuple[int, ...], dict[str, Any]] = {}
    for number, case in enumerate(_cases(path)):
        for key, chain in _windows(path, number, case):
            if key not in chains or (chain["question"] and not chains[key]["question"]):
                chains[key] = chain
    rows = []
    for key in sorted(chains):
        dropped = None
        if key[1] not in choice.shared or key[3] not in choice.second_hops:
            dropped = "relation"
        elif chain_text == "question" and not chains[key]["question"]:
            dropped = "no_question"
        ids = [f"{'P' if index % 2 else 'Q'}{number}" for index, number in enumerate(key)]
        draw = int(hashlib.sha256("|".join([str(seed), *ids]).encode()).hexdigest()[:16], 16)
        rows.append(dict(zip(CANDIDATES.names, (*key, draw, dropped), strict=True)) | chains[key])
    return write_parquet(pa.Table.from_pylist(rows, schema=MQUAKE), output)


def _cases(path: Path) -> list[dict[str, Any]]:
    try:
        cases = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"{path}: no such file; name a file in MQuAKE's format in klob.r.mquake") from None
    except ValueError as error:
        raise InputError(f"{path}: no JSON in UTF-8 ({error}); give the file as it was published") from None
    if not isinstance(cases, list) or not all(isinstance(case, dict) for case in cases):
        raise InputError(f"{path}: a list of cases is needed, as MQuAKE publishes them")
    return cases


def _windows(
    path: Path, number: int, record: dict[str, Any]
) -> Iterator[tuple[tuple[int, ...], dict[str, Any]]]:
    """The chains of a case: the ids, and the file's names of them."""
    where = f"{path}, case {record.get('case_id', number)}"
    try:
        case = msgspec.convert(record, _Case)
    except ValidationError as error:
        raise InputError(f"{where}: {error}; give a file of MQuAKE") from None
    triples = case.orig.triples or case.orig_triples
    labels = case.orig.triples_labeled or case.orig_triples_labeled
    if not triples or not labels or len(triples) != len(labels):
        raise InputError(
            f"{where}: neither `orig.triples` nor `orig_triples`, each with its labels; give a file of MQuAKE"
        )
    hops = case.single_hops or []
    aliases = [hop.answer_alias or [] for hop in hops] if len(hops) == len(triples) else [[]] * len(triples)
    facts = list(zip([_numbers(where, triple) for triple in triples], labels, aliases, strict=True))
    for ((s, p1, o1), first, names), ((middle, p2, o2), second, other_names) in itertools.pairwise(facts):
        if middle == o1:
            yield (
                (s, p1, o1, p2, o2),
                {"s_label": first[0], "o1_label": first[2], "o2_label": second[2]}
                | {"o1_aliases": names, "o2_aliases": other_names}
                | {"question": case.questions[0] if case.questions and len(facts) == 2 else None},
            )


def _numbers(where: str, triple: _Triple) -> tuple[int, int, int]:
    match [entity_number(part) for part in triple]:
        case [int() as s, int() as p, int() as o] if s > 0 > p and o > 0:
            return s, -p, o
    raise InputError(f"{where}: {[*triple]} is no triple such as [Q30, P6, Q22686]")
