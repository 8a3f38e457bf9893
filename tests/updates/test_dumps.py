"""Two dumps that cannot be what their dates say: one file twice, swapped ones, one that lacks a part."""

import gzip
import json
from pathlib import Path

import pytest
from support.shards import extract, gather_snapshot

from factdrift.core.errors import InputError
from factdrift.updates.dumps import check_dumps

OLD, NEW = "2021-01-04", "2023-02-27"


def items(number: int, revision: int | None, modified: str | None) -> bytes:
    """A dump of some items, the last of which has the newest revision, the first the newest date."""
    entities: list[dict[str, object]] = [{"type": "item", "id": f"Q{each}"} for each in range(1, number + 1)]
    for entity in entities:
        entity |= {"lastrevid": 100} if revision else {}
        entity |= {"modified": "2015-01-01T00:00:00Z"} if modified else {}
    entities[-1] |= {"lastrevid": revision} if revision else {}
    entities[0] |= {"modified": f"{modified}T09:00:00Z"} if modified else {}
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
    for other in (text, gzip.compress(text)):
        pair = counted("a.json", text), counted("b.json", other)
        if other == text or dated:
            with pytest.raises(InputError, match=r"\(a.json\) and 2023-02-27 \(b.json\) are the same"):
                check_dumps(*pair, OLD, NEW)
        else:  # nothing in them says when they are from
            assert check_dumps(*pair, OLD, NEW) == []


@pytest.mark.parametrize(
    ("old", "new", "swapped"),
    [
        ((900, "2023-02-26"), (500, "2021-01-02"), True),
        ((900, None), (500, None), True),
        ((900, "2023-02-26"), (None, None), True),
        ((500, "2021-01-02"), (900, "2023-03-05"), False),
        # Made up, by the bundled sample.
        ((10**13 + 9, None), (10**13 + 2, "2023-02-26"), False),
    ],
)
def test_swapped_dumps(counted, old, new, swapped):
    pair = counted("a.json", items(9, *old)), counted("b.json", items(10, *new))
    if swapped:
        with pytest.raises(InputError, match=r"\(a.json\) is newer than that of 2023-02-27 .* swapped"):
            check_dumps(*pair, OLD, NEW)
    else:
        assert check_dumps(*pair, OLD, NEW) == []


def test_dumps_of_another_date_are_named(counted):
    pair = counted("a.json", items(9, 500, "2021-01-02")), counted("b.json", items(10, 900, "2024-01-02"))
    until = "has revisions until 2024-01-02T09:00:00Z: is it a later one?"
    assert check_dumps(*pair, OLD, NEW) == [f"the dump of 2023-02-27 (b.json) {until}"]


def test_a_dump_with_too_few_entities_is_named(counted, tmp_path):
    pair = counted("a.json", items(100, 500, "2021-01-02")), counted("b.json", items(97, 900, "2023-02-26"))
    [said] = check_dumps(*pair, OLD, NEW)
    assert "b.json) has 97 entities, that of 2021-01-04 (a.json) 100" in said
    assert check_dumps(*pair[:1], counted("c.json", items(98, 900, "2023-02-26")), OLD, NEW) == []

    def whole(path: Path, lines: int) -> Path:
        counts = json.loads(path.read_text()) | {"lines": lines}
        (tmp_path / f"{lines}.json").write_text(json.dumps(counts))
        return tmp_path / f"{lines}.json"

    # Of a dump of Wikidata it is known how many there should be.
    assert check_dumps(whole(pair[0], 91_000_000), whole(pair[1], 102_000_000), OLD, NEW) == []
    [said] = check_dumps(whole(pair[0], 84_000_000), whole(pair[1], 102_000_000), OLD, NEW)
    assert "Wikidata's of that date has about 90" in said
