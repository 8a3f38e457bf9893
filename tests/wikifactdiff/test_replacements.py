"""Which replacements make WFD_repl."""

import pyarrow.parquet as pq
import pytest
from support.tables import written

from factdrift.core.errors import InputError
from factdrift.wikifactdiff.replacements import write_replacements

from .conftest import GROUPS, P6, P1082, USA

EITHER = "give either --updates, or --dataset and --groups"


def test_subjects_without_a_popularity_come_last(build, tmp_path):
    known = [{"id": 142, "popularity": 0.5, "source": "sitelinks"}]
    dataset = build(popularity=known).assemble()
    pairs = [{"subject": 142, "property": P1082}, {"subject": USA, "property": P6}]
    output = tmp_path / "wfd_repl.parquet"
    assert write_replacements(dataset, written(tmp_path / "g.parquet", GROUPS, pairs), output) == 2
    rows = pq.read_table(output).to_pylist()
    assert [row["subject"]["id"] for row in rows] == ["Q142", "Q30"]
    assert rows == [row for row in pq.read_table(dataset).to_pylist() if row["is_replace"]]
    assert pq.read_schema(output).equals(pq.read_schema(dataset))


def test_no_replacement(build, tmp_path):
    groups = written(tmp_path / "groups.parquet", GROUPS, [])
    with pytest.raises(InputError, match="no update replaces exactly one object"):
        write_replacements(build().assemble(), groups, tmp_path / "wfd_repl.parquet")
    assert not (tmp_path / "wfd_repl.parquet").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        *(
            (f"--updates u --undersample {text}", "--undersample: ")
            for text in ('"P1', '{"P1":0}', '{"Q1":3}')
        ),
        *((words, EITHER) for words in ("", "--dataset d", "--updates u --dataset d --groups g")),
    ],
)
def test_a_selection_is_of_updates_or_of_records(words, said, refused):
    assert f"factdrift: {said}" in refused("wikifactdiff", "select", *words.split(), "-o", "o")
