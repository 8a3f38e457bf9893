"""Small corpora with questions, written as tables."""

import pyarrow as pa
import pyarrow.parquet as pq

from factdrift.memory.retrieval import Sources, write_retrieval
from factdrift.streams.corpus import CORPUS
from factdrift.streams.corpus_questions import CORPUS_QUESTIONS

DAYS = ["2019-01-01", "2020-01-01", "2021-01-01"]
HOLDERS = {
    "Atland": ["Ann Arden", "Bob Brown", "Cora Clay"],
    "Borland": ["Dan Dale", "Eve Ember", "Eve Ember"],
    "Cirland": ["Fay Ford", "Fay Ford", "Gil Grove"],
}


def documents():
    """A version of each land for every day on which its head of government is another."""
    rows = []
    for number, (land, holders) in enumerate(HOLDERS.items(), start=1):
        changes = [day for day in range(len(DAYS)) if day == 0 or holders[day] != holders[day - 1]]
        ends = [*(DAYS[day] for day in changes[1:]), None]
        for version, (day, end) in enumerate(zip(changes, ends, strict=True), start=1):
            text = f"{land} is a country. The head of government of {land} is {holders[day]}."
            rows.append(
                {
                    "doc": f"Q{number}@{DAYS[day]}",
                    "subject": f"Q{number}",
                    "title": land,
                    "text": text,
                    "known_from": DAYS[day],
                    "known_until": end,
                    "version": version,
                    "role": "updated",
                    "links": [],
                    "facts": [fact(f"Q{number}", holders[day], DAYS[day], text)],
                }
            )
    return rows


def fact(subject, holder, day, text):
    start = text.index("The head")
    packed = int(day.replace("-", ""))
    return {
        "subject": subject,
        "relation": "P6",
        "object": item(holder),
        "statement": f"{subject}${holder}",
        "tense": "now",
        "first_day": packed,
        "last_day": packed,
        "start": start,
        "end": len(text),
    }


def item(name):
    return f"Q{sum(map(ord, name))}"


def question(number, land, day, **more):
    """Who heads a land on a day, by the dump of that day."""
    docs = [row for row in documents() if row["title"] == land and row["known_from"] <= DAYS[day]]
    holders = HOLDERS[land][: day + 1]
    old = [holder for holder in dict.fromkeys(reversed(holders)) if holder != holders[-1]]
    packed = int(DAYS[day].replace("-", ""))
    return dict.fromkeys(CORPUS_QUESTIONS.names) | {
        "id": f"{number:016x}",
        "kind": "now",
        "question": f"Who is the head of government of {land}?",
        "prompt": f"The head of government of {land} is ____",
        "asked_on": DAYS[day],
        "known_at": DAYS[day],
        "chain": f"{docs[0]['subject']}-P6",
        "relation": "P6",
        "first_day": packed,
        "last_day": packed,
        "answer_id": item(holders[-1]),
        "answers": [holders[-1]],
        "stale_ids": [*map(item, old)],
        "stale_answers": old,
        "later_answers": [],
        "right_docs": [row["doc"] for row in docs if holders[-1] in row["text"]],
        "stale_docs": [row["doc"] for row in docs if any(name in row["text"] for name in old)],
        "certain": True,
        "announced": False,
        **more,
    }


def questions():
    """Who heads each land on each day; what presupposes that the one before still does."""
    asked = [(land, day) for land in HOLDERS for day in range(len(DAYS))]
    rows = [question(number, land, day) for number, (land, day) in enumerate(asked)]
    for row in [row for row in rows if row["stale_answers"]]:
        old, land = row["stale_answers"][0], row["question"].rpartition(" ")[2].rstrip("?")
        rows.append(
            row
            | {
                "id": f"{len(rows):016x}",
                "kind": "premise",
                "question": f"Since when has {old} been the head of government of {land}?",
                "prompt": None,
                "premise": item(old),
                "premise_start": "2011",
            }
        )
    return rows


def write(folder, asked=None):
    """The paths of a corpus and of its questions."""
    paths = folder / "corpus.parquet", folder / "corpus_questions.parquet"
    pq.write_table(pa.Table.from_pylist(documents(), CORPUS), paths[0])
    pq.write_table(pa.Table.from_pylist(asked or questions(), CORPUS_QUESTIONS), paths[1])
    return paths


def retrieved(folder, asked=None, dates=False):
    """The paths of questions about a corpus, and of what retrievers put before them."""
    corpus, questions = write(folder, asked)
    outputs = [folder / name for name in ("retrieved.parquet", "retrieval.txt", "retrieval.parquet")]
    write_retrieval(Sources(corpus, questions, {}, dates=dates), 0, *outputs)
    return questions, outputs[0]
