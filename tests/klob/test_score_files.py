"""Scores as files, and the command that reads them."""

from __future__ import annotations

import contextlib
import io
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.klob_scores import row

from factdrift.cli import main
from factdrift.core.errors import InputError
from factdrift.klob.schemas import SUBTASK
from factdrift.klob.scoring.evaluate import EXAMPLES, MEASURES
from factdrift.klob.scoring.inputs import read_scores

UNITS = 200


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("examples")
    for subtask, kinds in (("c", "eee"), ("r", "eeec"), ("u", "u")):
        rows = [row(number, kinds, p1=f"P{number % 3 + 1}") for number in range(30)]
        pq.write_table(pa.Table.from_pylist(rows, schema=SUBTASK), folder / f"klob_{subtask}.parquet")
    return folder


def sentences(examples: Path) -> list[str]:
    tables = [pq.read_table(examples / f"klob_{name}.parquet") for name in "cru"]
    return [row["sentence_id"] for table in tables for each in table["sentences"].to_pylist() for row in each]


def folder(examples: Path, path: Path, **more: Any) -> Path:
    """Scores of all units, at random."""
    names = sentences(examples)
    known = {"name": path.name, "model": "m", "revision": "1", "granularity": "head", "sign": "as_given"}
    known |= {"units": UNITS} | more
    dense = np.random.default_rng(len(path.name)).normal(size=(len(names), known["units"])).astype(np.float32)
    return write(path, known, names, scores=dense)


def write(path: Path, known: dict[str, Any], names: list[str], **arrays: np.ndarray) -> Path:
    path.mkdir()
    (path / "scores.json").write_text(json.dumps(known), encoding="utf-8")
    (path / "sentences.txt").write_text("\n".join([*names, ""]), encoding="utf-8")
    for name, array in arrays.items():
        np.save(path / f"{name}.npy", array)
    return path


def refused(path: Path, examples: Path, said: str, *more: str) -> None:
    """The command ends with this message."""
    with contextlib.redirect_stderr(io.StringIO()) as errors:
        assert main(["klob", "score", str(path), *more, "--examples", str(examples)]) == 1
    assert said in errors.getvalue()


def test_the_documented_example_is_scored(
    examples: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The ten lines of docs/klob_scores.md, run as they stand there with another path and model."""
    page = (Path(__file__).resolve().parents[2] / "docs" / "klob_scores.md").read_text(encoding="utf-8")
    code = page.partition("```python\n")[2].partition("```")[0]
    assert len(code.strip().splitlines()) <= 16
    code = code.replace('"results/', f'"{examples}/').replace('"my_method"', f'"{tmp_path}/my_method"')
    dice = np.random.default_rng(0)
    exec(code, {"my_scores": lambda text: dice.random(1000)})
    choices = ["--sim-all=paper_approx", "--unit=examples", "--normalise=rank", "--rsd-pool=subtasks"]
    line = ["--examples", str(examples), "-o", f"{tmp_path}/o", "--no-references", *choices]
    assert main(["klob", "score", f"{tmp_path}/my_method", *line]) == 0
    said = capsys.readouterr().out
    assert re.search(r"\nmy method by k\n.*\n0\.1 %  +1  .*\n0\.5 %  +5  ", said)
    assert re.search(r"\nmy method by relation\n +RSim +n\nP1 +0\.\d+ ±0\.\d+  10\n", said)
    assert "RSD is unchanged by a constant" in said
    table = pq.read_table(tmp_path / "o" / "measures.parquet").to_pylist()
    assert {"paper_approx", "examples", "all"} <= {row["population"] for row in table}


def test_best_units_give_the_same_as_all_scores(examples: Path, tmp_path: Path) -> None:
    dense, short = folder(examples, tmp_path / "dense"), tmp_path / "short"
    scores = read_scores(dense)
    array = np.asarray(scores.dense, np.float64)
    top = np.argsort(-array, axis=1, kind="stable")[:, :40].astype(np.int32)
    known = json.loads((dense / "scores.json").read_text(encoding="utf-8"))
    write(short, known, scores.sentences, units=top, mean=array.mean(axis=1), sd=array.std(axis=1))
    found = []
    for path in (dense, short):
        output = tmp_path / f"{path.name}-scored"
        arguments = ["--examples", str(examples), "--no-references", "-o", str(output)]
        assert main(["klob", "score", str(path), *arguments]) == 0
        table = pq.read_table(output / "measures.parquet")
        assert table.schema.equals(MEASURES)
        assert pq.read_table(output / "examples.parquet").schema.equals(EXAMPLES)
        rows = [
            row
            for row in table.to_pylist()
            if "tie" not in row["measure"] and "entropy" not in row["measure"]
        ]
        found.append([{key: value for key, value in row.items() if key != "locator"} for row in rows])
    assert found[0] == found[1]
    refused(short, examples, "k = 50 % of 200 units are 100, but units.npy lists 40", "--k", "50")
    refused(short, examples, "fractional ties need all scores", "--ties", "fractional")
    refused(short, examples, "mean score vectors need all scores", "--unit", "examples")


def test_the_run_is_repeatable_with_figure_and_references(
    examples: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dense = folder(examples, tmp_path / "dense")
    outputs = [tmp_path / "one", tmp_path / "two"]
    for output in outputs:
        assert main(["klob", "score", str(dense), "--examples", str(examples), "-o", str(output)]) == 0
    for name in ("measures.parquet", "examples.parquet", "rsim.svg"):
        assert outputs[0].joinpath(name).read_bytes() == outputs[1].joinpath(name).read_bytes()
    locators = set(pq.read_table(outputs[0] / "measures.parquet")["locator"].to_pylist())
    assert locators == {"dense", "constant", "mostly_constant", "random", "oracle", "lexical"}
    said = capsys.readouterr().out
    assert re.search(r"\nrandom +2  .* 0\.0", said)
    assert re.search(r"\nmostly_constant +2  ", said)
    assert re.search(r"\nlexical +0\.", said)
    figure = outputs[0].joinpath("rsim.svg").read_text(encoding="utf-8")
    assert figure.startswith("<?xml")


def spoil(path: Path, **keys: Any) -> None:
    known = json.loads(path.joinpath("scores.json").read_text(encoding="utf-8"))
    path.joinpath("scores.json").write_text(json.dumps(known | keys), encoding="utf-8")


def test_signs_are_applied_and_faulty_folders_refused_with_the_reason(examples: Path, tmp_path: Path) -> None:
    path = folder(examples, tmp_path / "dense")

    def refuse(said: str) -> None:
        with pytest.raises(InputError, match=said):
            read_scores(path)

    given = read_scores(path).signed(slice(None))
    for sign, scores in (("abs", np.abs(given)), ("relu", np.maximum(given, 0))):
        spoil(path, sign=sign)
        assert (read_scores(path).signed(slice(None)) == scores).all()
    spoil(path, sign="as_given")
    with pytest.raises(InputError, match=r"nowhere.scores.json is missing; what a folder of scores holds"):
        read_scores(tmp_path / "nowhere")
    for keys, said in (
        ({"name": 7}, r"Expected `str`, got `int` - at `\$\.name`; its keys: docs/klob_scores"),
        ({"units": 0}, r"Expected `int` >= 1 - at `\$\.units`"),
        ({"granularity": "cell"}, r"Invalid enum value 'cell' - at `\$\.granularity`"),
        (
            {"units": 7},
            r"scores.npy: floating numbers of shape 240 x 7 are expected, there are float32 of shape 240 x",
        ),
    ):
        spoil(path, **keys)
        refuse(said)
        spoil(path, name="dense", units=UNITS, granularity="head", sign="as_given")
    read_scores(path)
    np.save(path / "units.npy", np.zeros((240, 3), np.int32))
    refuse(r"both scores\.npy and units\.npy")
    (path / "scores.npy").unlink()
    refuse(r"units.npy: row 0: the unit 0 is listed twice")
    np.save(path / "units.npy", np.tile([0, 1, UNITS], (240, 1)))
    refuse(r"row 0: the unit 200 is listed twice or is not one of 0 to 199")
    np.save(path / "units.npy", np.tile([0, 1, 2], (240, 1)))
    refuse(r"mean.npy is missing")
    spoil(path, sign="abs")
    refuse("sign abs needs all scores")
    names = path.joinpath("sentences.txt").read_text(encoding="utf-8")
    path.joinpath("sentences.txt").write_text(names + "c0.0\n", encoding="utf-8")
    refuse(r"the sentence c0\.0 is listed twice")
    path.joinpath("sentences.txt").write_bytes(names.encode() + b"\xe9\n")
    refuse(r"sentences.txt, line 241: byte 0xe9 is not UTF-8")
    path.joinpath("sentences.txt").write_text(names, encoding="utf-8")
    path.joinpath("units.npy").write_bytes(b"")
    spoil(path, sign="as_given")
    refuse(r"units.npy: no NumPy array: No data left in file")
    path.joinpath("scores.json").write_text("{", encoding="utf-8")
    refuse(r"scores.json: Expecting property name .*; its keys")


def test_files_of_a_user_are_not_replaced(examples: Path, tmp_path: Path) -> None:
    own = tmp_path / "mine"
    own.mkdir()
    (own / "measures.parquet").write_text("of the user")
    said = f"{own}/measures.parquet: was not written by this command"
    refused(folder(examples, tmp_path / "dense"), examples, said, "-o", str(own))
    assert [path.read_text() for path in own.iterdir()] == ["of the user"]


def test_what_cannot_be_scored(examples: Path, tmp_path: Path) -> None:
    path = folder(examples, tmp_path / "dense")
    refused(path, tmp_path, "klob_c.parquet is missing; build it")
    for text in ("0", "101", "1/0"):
        refused(path, examples, "is no percentage above 0 and up to 100", "--k", text)
    refused(path, examples, "--headline: 'x' is no percentage", "--headline", "x")
    wrong = tmp_path / "wrong"
    wrong.mkdir()
    for name in "cru":
        wrong.joinpath(f"klob_{name}.parquet").write_bytes(examples.joinpath("klob_u.parquet").read_bytes())
    refused(path, wrong, "not all examples are of KLoB-c")
    # Methods whose units are others are not compared.
    for key, value, said in (
        ("granularity", "neuron", "granularity is 'head' and 'neuron'"),
        ("units", 100, "units is 200 and 100"),
        ("model", "other", "model is 'm' and 'other'"),
    ):
        other = folder(examples, tmp_path / key, **{key: value})
        refused(path, examples, said, str(other))
