"""Two dumps that cannot be what their dates say: one file twice, swapped ones, one that lacks a part."""

from __future__ import annotations

import bz2
import gzip
import json
import re
from pathlib import Path

import pytest
from support.shards import extract, gather_snapshot

from factdrift.core.errors import InputError
from factdrift.runs.costs import dump_entities
from factdrift.updates.dumps import check_dumps

OLD, NEW = "2021-01-04", "2023-02-27"


def items(number: int, revision: int | None, modified: str | None) -> bytes:
    """A dump of some items, the last of which is the newest."""
    fields = [{"lastrevid": 100} if revision else {} for _ in range(number)]
    if revision:
        fields[-1]["lastrevid"] = revision
    entities = [{"type": "item", "id": f"Q{each + 1}"} | field for each, field in enumerate(fields)]
    if modified:
        for each, entity in enumerate(entities):
            entity["modified"] = "2015-01-01T00:00:00Z" if each else f"{modified}T09:00:00Z"
    return b"[\n" + b",\n".join(json.dumps(each).encode() for each in entities) + b"\n]\n"


@pytest.fixture
def counted(tmp_path):
    def run(name: str, text: bytes) -> Path:
        dump, folder = tmp_path / name, tmp_path / f"of-{name}"
        dump.write_bytes(text)
        extract(dump, 0, 1, 1, "all", folder / "shard")
        outputs = [folder / each for each in ("p.parquet", "c.parquet", "snapshot.json")]
        gather_snapshot([folder / "shard"], dump, 0.0, *outputs)
        return outputs[-1]

    return run


@pytest.mark.parametrize("dated", [None, "2021-01-02"])
def test_one_file_for_both_dates(counted, dated):
    text = items(9, dated and 500, dated)
    for other in (text, gzip.compress(text), bz2.compress(text)):
        pair = counted("a.json", text), counted("b.json", other)
        if other == text or dated:
            with pytest.raises(
                InputError, match=r"2021-01-04 \(a.json\) and 2023-02-27 \(b.json\) are the same"
            ):
                check_dumps(*pair, OLD, NEW)
        else:  # nothing in them says when they are from
            assert check_dumps(*pair, OLD, NEW) == []


BEFORE, AFTER = (500, "2021-01-02"), (900, "2023-02-26")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ((9, *BEFORE), (10, *AFTER), None),
        ((9, *BEFORE), (10, 900, "2023-03-05"), None),
        ((9, 500, None), (10, *AFTER), None),
        ((9, None, None), (10, None, None), None),
        # Made up, by the bundled sample.
        ((9, 10**13 + 9, None), (10, 10**13 + 2, "2023-02-26"), None),
        ((9, *AFTER), (10, *BEFORE), "swapped"),
        ((9, 900, None), (10, 500, None), "swapped"),
        ((9, *AFTER), (10, None, None), "swapped"),
        ((9, *BEFORE), (10, 900, "2024-01-02"), r"has revisions until 2024-01-02T09:00:00Z: is it a later"),
        ((100, *BEFORE), (97, *AFTER), r"has 97 entities, that of 2021-01-04 \(a.json\) 100"),
        ((100, *BEFORE), (98, *AFTER), None),
    ],
)
def test_swapped_dumps_and_those_of_another_date_or_with_too_few_entities(counted, old, new, said):
    pair = counted("a.json", items(*old)), counted("b.json", items(*new))
    if said == "swapped":
        with pytest.raises(
            InputError, match=r"2021-01-04 \(a.json\) is newer than that of 2023-02-27 .* swapped"
        ):
            check_dumps(*pair, OLD, NEW)
        return
    warnings = check_dumps(*pair, OLD, NEW)
    assert len(warnings) == (said is not None)
    assert all(re.search(rf"2023-02-27 \(b.json\) {said}", warning) for warning in warnings)


def test_how_many_entities_there_should_be_in_a_dump_of_wikidata(counted, tmp_path):
    assert dump_entities("2022-01-15") == 95_980_335
    assert dump_entities("2017-01-01") is None
    pair = counted("a.json", items(9, *BEFORE)), counted("b.json", items(9, *AFTER))

    def whole(path: Path, lines: int) -> Path:
        counts = json.loads(path.read_text()) | {"lines": lines}
        (tmp_path / f"{lines}.json").write_text(json.dumps(counts))
        return tmp_path / f"{lines}.json"

    assert check_dumps(whole(pair[0], 91_000_000), whole(pair[1], 102_000_000), OLD, NEW) == []
    [said] = check_dumps(whole(pair[0], 84_000_000), whole(pair[1], 102_000_000), OLD, NEW)
    assert "Wikidata's of that date has about 90" in said
