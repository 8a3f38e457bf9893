"""`factdrift judge`: anybody's answers, as JSON Lines or Parquet."""

import json
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from factdrift.cli import main

ROW = {"text": "It is Joe Biden.", "accepted": ["Joe Biden"], "stale": ["Donald Trump"], "number": 7}


def lines(path, *rows):
    """A file of these rows; texts and bytes stand in it as they are."""
    texts = [row if isinstance(row, str | bytes) else json.dumps(row) for row in rows]
    path.write_bytes(b"".join((text if isinstance(text, bytes) else text.encode()) + b"\n" for text in texts))
    return path


def test_rows_get_their_verdicts(tmp_path, capsys):
    answers = lines(tmp_path / "a.jsonl", ROW, {**ROW, "text": "Donald Trump", "stop": "length"})
    assert main(["judge", str(answers), "--output", str(tmp_path / "b.jsonl")]) == 0
    assert "correct: 1 of 2 (50.0%)" in capsys.readouterr().out
    first, second = map(json.loads, (tmp_path / "b.jsonl").read_text().splitlines())
    assert first == {
        **ROW,
        "verdict": "correct",
        "answer": "It is Joe Biden.",
        "named": ["Joe Biden"],
        "stop": "end",
        "reason": "an accepted answer is the first candidate that is asserted",
        "exact_match": False,
        "contains": True,
    }
    assert (second["verdict"], second["stop"]) == ("stale", "length")


def test_parquet_gives_the_same_as_lines(tmp_path, capsys):
    absent = {"stale": None, "others": [], "question": None, "language": None, "several": None}
    rows = [absent | ROW | {"others": ["Mike Pence"]}, ROW | absent]
    answers = lines(tmp_path / "a.jsonl", *rows)
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "a.parquet")
    assert main(["judge", str(tmp_path / "a.parquet"), "--output", str(tmp_path / "b.parquet")]) == 0
    capsys.readouterr()
    assert main(["judge", str(answers)]) == 0
    found = pq.read_table(tmp_path / "b.parquet").to_pylist()
    assert found == [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    pq.write_table(pa.Table.from_pylist([ROW | {"score": float("nan")}]), tmp_path / "a.parquet")
    assert main(["judge", str(tmp_path / "a.parquet")]) == 0
    assert json.loads(capsys.readouterr().out)["score"] is None
    assert [row["verdict"] for row in found] == ["correct", "correct"]


def test_nothing_but_the_rows_is_printed(tmp_path):
    code = "import sys; from factdrift.cli import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", code, "judge", str(lines(tmp_path / "a.jsonl", ROW))]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    assert (len(found.stdout.splitlines()), found.stderr) == (1, "")


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ("{", "no JSON"),
        ("", "the line is empty"),
        (b'{"text": "\xff", "accepted": ["x"]}', "byte 0xff is not UTF-8"),
        ("[]", "no JSON object"),
        ({"text": 7, "accepted": ["7"]}, "`text` must be"),
        ({"text": "7", "accepted": [7]}, "`accepted` must be a list"),
        ('{"text": "x", "text": "y", "accepted": ["x"]}', "a key is there twice: 'text'"),
        ('{"text": "x", "accepted": ["x"], "score": NaN}', "NaN is no number of JSON"),
        ('{"text": "x", "accepted": ["x"], "score": 1e999}', "Out of range float"),
        ({"text": "\ud800", "accepted": ["x"]}, "half of a surrogate pair"),
        ({"text": "x", "accepted": []}, "`accepted` is empty"),
        ({"text": "x", "accepted": ["x"], "several": "yes"}, "`several` must be"),
        ({"text": "x", "accepted": ["x"], "language": 5}, "`language` must be"),
    ],
)
def test_a_bad_line_is_refused_and_nothing_is_written(tmp_path, capsys, bad, message):
    answers = lines(tmp_path / "a.jsonl", ROW, bad)
    assert main(["judge", str(answers), "--output", str(tmp_path / "b.jsonl")]) == 1
    error = capsys.readouterr().err
    assert f"{answers}, line 2: " in error
    assert message in error
    assert not (tmp_path / "b.jsonl").exists()


def test_files_of_other_kinds_are_refused(tmp_path, capsys):
    assert main(["judge", str(lines(tmp_path / "a.txt", ROW))]) == 1
    assert "JSON Lines (.jsonl) or Parquet" in capsys.readouterr().err
    assert main(["judge", str(lines(tmp_path / "none.jsonl"))]) == 1
    assert "no answer is in it" in capsys.readouterr().err
    large = lines(tmp_path / "large.jsonl", ROW | {"n": 10**30})
    assert main(["judge", str(large), "--output", str(tmp_path / "b.parquet")]) == 1
    assert "column 'n' has values of several types, or too large" in capsys.readouterr().err
    answers = lines(tmp_path / "a.jsonl", ROW)
    assert main(["judge", str(answers), "--output", str(tmp_path / "b.csv")]) == 1
    assert "ends with .jsonl or .parquet" in capsys.readouterr().err
    for option in ("--chat={}", "--address=http://localhost:9"):
        assert main(["judge", str(answers), option]) == 1
        assert "no chat model judges; name one with --judge" in capsys.readouterr().err
    assert main(["judge", str(tmp_path / "missing.jsonl")]) == 1
    assert "no such file" in capsys.readouterr().err
