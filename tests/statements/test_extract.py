"""One shard of a dump: which lines it takes, what it does with bad ones, and that it is all or nothing."""

import bz2
import gzip
import itertools
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from support.shards import extract

from factdrift.core.errors import InputError
from factdrift.core.owned import LIST
from factdrift.statements import extract as module
from factdrift.statements.rows import OF_ENTITIES, OF_STATEMENTS, read_about, read_bucket

from .conftest import claim, entity, snak

DATE = {"time": "+2001-00-00T00:00:00Z", "precision": 9, "calendarmodel": "Q1985727"}


def item(number: int, sites: tuple[str, ...] = ("enwiki",), **fields: Any) -> dict[str, Any]:
    links = {site: {"title": f"T{number}"} for site in sites}
    said = claim(snak("P9", "string", f"v{number}"), id=f"Q{number}$x")
    dated = claim(snak("P9", "string", "x", datatype=None), snak("P580", "time", DATE), id=f"Q{number}$y")
    return entity(f"Q{number}", said, dated, sitelinks=links, lastrevid=number, **fields)


TIMED = claim(snak("P9", "time", DATE), snak("P580", "time", DATE), id="Q1$b")
ODD = claim(snak("P9", "time", "yesterday"), *[snak("P580", "time", DATE)] * 2)
"""What would be left in several columns, or counted, if a line were taken in part."""


def line(*claims: dict[str, Any]) -> bytes:
    return json.dumps(entity("Q1", TIMED, ODD, *claims)).encode()


KINDS = {"statements": OF_STATEMENTS, "entities": OF_ENTITIES}


def column(folder: Path, kind: str, name: str) -> list[Any]:
    return list(read_bucket([folder], KINDS[kind], 0, 1).read_all()[name].to_pylist())


def about(folder: Path, name: str) -> Any:
    return json.loads(read_about(folder / OF_ENTITIES.file)[name])


def test_a_folder_has_few_files_and_an_earlier_one_is_replaced(write_dump, tmp_path):
    dump, shard = write_dump(*map(item, range(1, 20)), {"id": "P9", "type": "property"}), tmp_path / "shard"
    report = extract(dump, 0, 1, 3, "enwiki", shard)
    # As few as can be: a large build has thousands of shards.
    assert {path.name for path in shard.iterdir()} == {LIST, "entities.arrow", "statements.arrow"}
    assert about(shard, "report") == report
    assert (report["lines"], report["items"], report["properties"], report["statements"]) == (20, 19, 1, 38)
    extract(dump, 0, 1, 2, "enwiki", shard, languages=("de",))
    assert len([*shard.iterdir()]) == 4
    assert about(shard, "report")["buckets"] == 2


def test_writing_often_changes_nothing(write_dump, tmp_path, monkeypatch):
    dump = write_dump(*map(item, range(1, 100)), {"id": "P9", "type": "property"})
    extract(dump, 0, 1, 2, "all", tmp_path / "once")
    monkeypatch.setattr(module, "OBJECT_ROWS", 3)
    monkeypatch.setattr(module, "BUFFERED_ROWS", 5)
    extract(dump, 0, 1, 2, "all", tmp_path / "often")
    for kind, bucket in itertools.product(KINDS.values(), range(2)):
        once, often = (read_bucket([tmp_path / name], kind, bucket, 2) for name in ("once", "often"))
        assert once.read_all().equals(often.read_all())
    with pa.ipc.open_file(tmp_path / "often" / "statements.arrow") as file:
        assert file.num_record_batches > 20


@pytest.mark.parametrize(
    ("scope", "whole"), [("enwiki", [1, 4]), ("anywiki", [1, 2, 4, 7]), ("all", [1, 2, 3, 4, 5, 6, 7])]
)
def test_scope_decides_whose_statements_are_held(write_dump, tmp_path, scope, whole):
    escaped = json.dumps(item(4)).replace("enwiki", "en\\u0077iki").encode()
    mentioned = item(5, ("commonswiki",), descriptions={"en": {"value": 'says "enwiki"'}})
    mentioned["sitelinks"]["commonswiki"]["title"] = "enwiki"
    others = (item(6, ("specieswiki", "enwikiquote")), item(7, ("commonswiki", "be_x_oldwiki")))
    dump = write_dump(item(1), item(2, ("dewiki",)), item(3, ()), escaped, mentioned, *others)
    extract(dump, 0, 1, 1, scope, tmp_path / "shard")
    assert column(tmp_path / "shard", "statements", "subject") == [number for number in whole for _ in "ab"]
    assert column(tmp_path / "shard", "entities", "id") == [*range(1, 8)]
    assert column(tmp_path / "shard", "entities", "whole") == [number in whole for number in range(1, 8)]


BAD = [
    *(b'{"id":"Q3"', b'{"type":"item","labels":{}}', b'{"id":null,"type":"item"}'),
    *(b'{"id":"%b","type":"item"}' % name for name in (b"Q", b"Q0", b"Q2147483648")),
    b'{"id":"Q3","labels":{"en":{"value":"\xff\xfe"}}}',
    *(line(claim(snak(name, "string", "x"))) for name in ("p9", "Q9", "P9x", "P99999999999")),
    line(claim(snak("P9", "string", "x"), snak("Q9", "string", "x"))),
    line(claim(snak("P9", "string", "x"), {"property": "P580", "snaktype": 5})),
]


def test_a_bad_line_costs_itself_only(write_dump, tmp_path, capsys):
    lexemes = [{"id": name, "type": "lexeme"} for name in ("L1", "L2-F1")]
    others = [*lexemes, {"id": "M7", "type": "mediainfo"}]
    dump = write_dump(item(1), *BAD, item(2), *others, *[b"{"] * 150)
    report = extract(dump, 0, 1, 1, "all", tmp_path / "shard")
    assert (report["bad_lines"], report["items"], report["lexemes"], report["other"]) == (163, 2, 2, 1)
    assert report["lines"] == 168
    # Only the first ones are named.
    named, said = report["first_bad_lines"], capsys.readouterr().err
    assert len(named) == 100
    for number, (bad, found) in enumerate(zip(BAD, named, strict=False), start=3):
        offset = dump.read_bytes().index(b"\n" + bad + b",\n") + 1
        assert (found["line"], found["offset"]) == (number, offset)
        assert f"{dump}, line {number} (byte {offset}): skipped, {found['problem']}" in said
    # Nothing of them is left.
    good = extract(write_dump(item(1), item(2), name="good.json"), 0, 1, 1, "all", tmp_path / "good")
    assert report["oddities"] == good["oddities"]
    for kind in KINDS.values():
        tables = (read_bucket([tmp_path / name], kind, 0, 1).read_all() for name in ("shard", "good"))
        found, expected = (table.drop_columns("line") for table in tables)
        assert found == expected


def test_a_failed_shard_leaves_nothing(write_dump, tmp_path):
    data = bz2.compress(write_dump(*(item(number) for number in range(1, 300))).read_bytes())
    broken = tmp_path / "broken.json.bz2"
    broken.write_bytes(data[: len(data) // 2])
    before = set(tmp_path.iterdir())
    with pytest.raises(InputError, match=r"broken\.json\.bz2"):
        extract(broken, 0, 1, 2, "all", tmp_path / "shard")
    assert set(tmp_path.iterdir()) == before


def test_files_of_others_are_not_replaced(write_dump, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    (other / "thesis.txt").write_text("mine")
    (other / "entities.arrow").write_text("mine")
    for output in (other, other / "thesis.txt"):
        with pytest.raises(InputError, match=r"was not written there by factdrift|is a file"):
            extract(write_dump(item(1)), 0, 1, 2, "all", output)
    assert {path.read_text() for path in other.iterdir()} == {"mine"}


@pytest.mark.parametrize(
    ("dump", "place", "named"),
    [
        ("dump", (2, 2, 1), "--shard 2"),
        ("dump", (0, 1, 0), "--buckets 0"),
        ("none", (0, 1, 1), r"none\.json"),
    ],
)
def test_impossible_options(write_dump, tmp_path, dump, place, named):
    write_dump(item(1))
    with pytest.raises(InputError, match=named):
        extract(tmp_path / f"{dump}.json", *place, "all", tmp_path / "shard")


def test_a_line_of_30_megabytes(write_dump, tmp_path):
    long = item(2)
    long["claims"]["P9"] = long["claims"]["P9"][:1] * 160_000
    dump = write_dump(item(1), long, item(3))
    assert dump.stat().st_size > 30e6
    dump.write_bytes(gzip.compress(dump.read_bytes(), 1))
    code = (
        # Of this program alone; resource.getrusage would tell the peak of the process that started it.
        "import sys; from factdrift.cli import main; main(); assert 'pandas' not in sys.modules;"
        "status = open('/proc/self/status').read();"
        "print(int(status.split('VmHWM:')[1].split()[0]) // 1024)"
    )
    line = f"statements extract --dump {dump} --shard 0 --shards 1 -o {tmp_path / 'shard'}".split()
    done = subprocess.run([sys.executable, "-c", code, *line], check=True, capture_output=True, text=True)
    assert int(done.stdout.split()[-1]) < 600
    report = about(tmp_path / "shard", "report")
    assert (report["items"], report["statements"]) == (3, 160_004)
