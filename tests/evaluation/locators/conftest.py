"""A small KLoB about invented facts, in the layout of a build."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from factdrift.klob.schemas import SUBTASK

PEOPLE = ("Marta Kowalska", "Joe Biden", "Zoë Müller", "Atlantis", "New Orleans", "Kowalska")
TEXTS = ("The mother of {} is", "{} lives in the", "Because of {} the capital is")
RANDOM = ("government", "lives", "Because", "sea", "the", "baker", "is")
ANSWERS = ("Marta", "Joe", "Poseidonis")


def example(subtask: str, number: int, sentences: list[dict[str, Any]], **more: str) -> dict[str, Any]:
    own = {"example_id": f"{subtask}{number}", "subtask": subtask, "sentences": sentences}
    return dict.fromkeys(SUBTASK.names) | own | more


def sentence(
    name: str, role: str, place: int, text: str, answer: str | None, source: str | None = None
) -> dict[str, Any]:
    found: dict[str, Any] = {"sentence_id": name, "role": role, "place": place, "template_id": f"t{place}"}
    found |= {"text": text, "text_blank": f"{text} _", "n_tokens": len(text.split()) + 1, "target_id": None}
    return found | {"target_label": answer, "target_aliases": [], "source_sentence_id": source}


@pytest.fixture(scope="session")
def klob(tmp_path_factory) -> Path:
    """A folder with klob_c, klob_r, klob_u.parquet: 6 facts, 4 chains, a random sentence for each wording."""
    folder = tmp_path_factory.mktemp("klob")
    tables: dict[str, list[dict[str, Any]]] = {"c": [], "r": [], "u": []}
    for number, subject in enumerate(PEOPLE):
        answer = ANSWERS[number % 3]
        singles = [
            sentence(f"c{number}.{place}", "expr", place, text.format(subject), answer)
            for place, text in enumerate(TEXTS, start=1)
        ]
        fact = {"s": f"Q{number}", "p1": "P1", "o1": "Q9", "s_label": subject, "o1_label": answer}
        tables["c"].append(example("c", number, singles, **fact))
        if number < 4:
            own = [one | {"sentence_id": f"r{one['sentence_id']}", "role": "single"} for one in singles]
            chain = sentence(f"r{number}.4", "chain", 4, f"The head of the mother of {subject} is", "sea")
            tables["r"].append(example("r", number, [*own, chain], **fact, p2="P2", o2="Q8"))
        for one in singles:
            words = " ".join(RANDOM[: len(one["text"].split())])
            random = sentence(f"u{one['sentence_id']}", "random", 1, words, None, one["sentence_id"])
            tables["u"].append(example("u", 10 * number + one["place"], [random]))
    for name, rows in tables.items():
        pq.write_table(pa.Table.from_pylist(rows, schema=SUBTASK), folder / f"klob_{name}.parquet")
    return folder
