"""A memory without a model: it answers with the sentence that resembles a question most (docs/memory.md).

python bm25_agent.py FOLDER keep|replace answers.jsonl
"""

import json
import sys
from pathlib import Path

import bm25s


def lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def answers(folder, replace):
    documents = [event for event in lines(folder / "events.jsonl") if event["event"] == "document"]
    questions = lines(folder / "questions.jsonl")
    for day in sorted({question["asked_on"] for question in questions}):
        memory = {}
        for document in documents:  # in the order in which they became known
            if document["known_from"] <= day:
                memory[document["subject"] if replace else document["doc"]] = document
        sentences = [
            (f"{document['title']}: {sentence}", sentence)
            for document in memory.values()
            for sentence in document["text"].split(". ")
        ]
        index = bm25s.BM25(backend="numpy")
        index.index(bm25s.tokenize([text for text, _ in sentences], show_progress=False), show_progress=False)
        asked = [question for question in questions if question["asked_on"] == day]
        words = bm25s.tokenize([question["question"] for question in asked], show_progress=False)
        best, _ = index.retrieve(words, k=1, show_progress=False)
        for question, (number,) in zip(asked, best, strict=True):
            yield {"id": question["id"], "text": sentences[number][1]}


if __name__ == "__main__":
    folder, mode, output = sys.argv[1:]
    rows = answers(Path(folder), mode == "replace")
    Path(output).write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
