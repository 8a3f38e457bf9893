"""What only the whole dataset shows: sentence templates that two relations share, questions asked twice."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

Row = Mapping[str, Any]


class Shared:
    """The templates and questions of all updates of a dataset."""

    def __init__(self, dataset: Path) -> None:
        self._templates: dict[str, set[str]] = defaultdict(set)
        self._asked: dict[str, set[tuple[str, str]]] = defaultdict(set)
        columns = ["subject", "relation", "update_prompt", "generalization_prompts"]
        for batch in pq.ParquetFile(dataset).iter_batches(columns=columns):
            for row in batch.to_pylist():
                for template in _templates(row):
                    self._templates[template].add(row["relation"]["id"])
                self._asked[row["update_prompt"]].add((row["subject"]["id"], row["relation"]["id"]))

    def templates_of(self, row: Row) -> Iterator[str]:
        """The templates of an update that another relation has too."""
        for template in _templates(row):
            others = self._templates[template] - {row["relation"]["id"]}
            if others:
                yield f"{template!r} is also a template of {', '.join(sorted(others))}"

    def questions_of(self, row: Row) -> Iterator[str]:
        """The other updates that the first prompt of an update asks for."""
        own = (row["subject"]["id"], row["relation"]["id"])
        for subject, relation in sorted(self._asked[row["update_prompt"]] - {own}):
            yield f"{row['update_prompt']!r} also asks for {subject} {relation}"


def _templates(row: Row) -> Iterator[str]:
    for prompt in (row["update_prompt"], *row["generalization_prompts"]):
        if row["subject"]["label"] in prompt:
            yield prompt.replace(row["subject"]["label"], "{}", 1)
