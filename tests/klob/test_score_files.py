"""Scores as files, and the command that reads them."""

import contextlib
import io
import json
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.klob_scores import row

from factdrift.cli import main
from factdrift.core.errors import InputError
from factdrift.evaluation.locators.table import SCORES, compare
from factdrift.klob.schemas import SUBTASK
from factdrift.klob.scoring.evaluate import Choices
from factdrift.klob.scoring.inputs import REFERENCES, read_examples, read_scores

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


def scored(examples: Path, output: Path, *arguments: str | Path) -> list[dict[str, Any]]:
    """The table that the command writes, with its reports, to a folder."""
    outputs = [f"--out-scores={output}/scores.parquet", f"--out-reports={output}"]
    assert main(["locate", "scores", *map(str, arguments), f"--examples={examples}", *outputs]) == 0
    table = pq.read_table(output / "scores.parquet")
    assert table.schema.equals(SCORES)
    return list(table.to_pylist())


def refused(path: Path, examples: Path, message: str, *more: str) -> None:
    """The command ends with this message."""
    with contextlib.redirect_stderr(io.StringIO()) as errors:
        assert main(["locate", "scores", str(path), *more, "--examples", str(examples)]) == 1
    assert message in errors.getvalue()


def test_the_documented_example_is_scored(examples, tmp_path, capsys):
    """The lines of docs/klob_scores.md, run with another path and model, and the switches of the scorer."""
    page = (Path(__file__).resolve().parents[2] / "docs" / "klob_scores.md").read_text(encoding="utf-8")
    code = page.partition("```python\n")[2].partition("```")[0]
    assert len(code.strip().splitlines()) <= 16
    code = code.replace('"results/', f'"{examples}/').replace('"my_method"', f'"{tmp_path}/my_method"')
    dice = np.random.default_rng(0)
    exec(code, {"my_scores": lambda text: dice.random(1000)})
    switches = ["--sim-all=paper_approx", "--rsd-pool=subtasks", "--exclude=none", "--ties=fractional"]
    table = scored(examples, tmp_path / "o", tmp_path / "my_method", *switches, "--k", "5")
    output = capsys.readouterr().out
    assert re.search(r"\nmy method +10 ", output)
    assert "RSD is unchanged by a constant" in output
    percents = Fraction(1), Fraction(5)
    chosen = Choices(percents, "fractional", "paper_approx", "none", "subtasks")
    assert table == compared(examples, chosen, tmp_path / "my_method")
    plain = compared(examples, Choices(percents), tmp_path / "my_method")
    for key in (("sim_all", "c", "all", 1, None), ("rsd_factual", None, None, None, None)):
        (one,), (other,) = (
            [line["value"] for line in lines if line["kind"] == "method" and measured(line) == key]
            for lines in (table, plain)
        )
        assert one != other


def measured(line: dict[str, Any]) -> tuple[Any, ...]:
    """What a row of the table measures."""
    return tuple(line[name] for name in ("measure", "subtask", "population", "k", "relation"))


def compared(examples: Path, choices: Choices, *paths: Path) -> list[dict[str, Any]]:
    """The table as `scored` gives it, by the function."""
    return list(compare(paths, read_examples(examples), choices)[1].to_pylist())


@pytest.mark.slow
def test_best_units_give_the_same_as_all_scores(examples, tmp_path):
    dense, short = folder(examples, tmp_path / "dense"), tmp_path / "short"
    scores = read_scores(dense)
    array = np.asarray(scores.dense, np.float64)
    top = np.argsort(-array, axis=1, kind="stable")[:, :40].astype(np.int32)
    known = json.loads((dense / "scores.json").read_text(encoding="utf-8"))
    write(short, known, scores.sentences, units=top, mean=array.mean(axis=1), sd=array.std(axis=1))
    tables = []
    for path in (dense, short):
        table = compared(examples, Choices((Fraction(1), Fraction(20))), path)
        assert {line["locator"] for line in table} == {"dense", *REFERENCES, "lexical"}
        ties = [line for line in table if line["kind"] == "method" and "tie" in line["measure"]]
        assert bool(ties) == (path == dense)
        tables.append([line for line in table if not re.search("tie|entropy", line["measure"])])
    assert tables[0] == tables[1]
    refused(short, examples, "k = 50 % of 200 units are 100, but units.npy lists 40", "--k", "50")
    refused(short, examples, "fractional ties need all scores", "--ties", "fractional")
    refused(short, examples, "the mean score vector needs all scores", "--sim-all", "paper_approx")


@pytest.mark.slow
def test_methods_with_other_units_are_apart(examples, tmp_path, capsys):
    others = {"granularity": "neuron", "units": 100, "model": "other", "revision": "2"}
    paths = [folder(examples, tmp_path / "first"), folder(examples, tmp_path / "second")]
    paths += [folder(examples, tmp_path / key, **{key: value}) for key, value in others.items()]
    groups: dict[tuple[Any, ...], set[str]] = {}
    for line in scored(examples, tmp_path / "o", *paths, "--k", "5"):
        key = tuple(line[name] for name in ("model", "revision", "granularity", "units"))
        groups.setdefault(key, set()).add(line["locator"])
    same = {*REFERENCES, "lexical"}
    assert list(groups.items()) == [
        (("m", "1", "neuron", 200), {"granularity", *same}),
        (("m", "1", "head", 100), {"units", *same}),
        (("m", "1", "head", 200), {"first", "second", *same}),
        (("other", "1", "head", 200), {"model", *same}),
        (("m", "2", "head", 200), {"revision", *same}),
    ]
    output = capsys.readouterr().out
    assert re.search(r"\nrandom +2  .* 0\.0", output)
    assert re.search(r"\nmostly_constant +2  ", output)
    assert re.search(r"\nlexical +0\.", output)
    # Two of one name cannot be told apart.
    (tmp_path / "x").mkdir()
    twin = folder(examples, tmp_path / "x/first")
    refused(paths[0], examples, "two of m, 200 heads are called first", str(twin))


def spoil(path: Path, **keys: Any) -> None:
    known = json.loads(path.joinpath("scores.json").read_text(encoding="utf-8"))
    path.joinpath("scores.json").write_text(json.dumps(known | keys), encoding="utf-8")


def test_signs_are_applied_and_faulty_folders_refused_with_the_reason(examples, tmp_path):
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


def test_what_cannot_be_scored(examples, tmp_path):
    path = folder(examples, tmp_path / "dense")
    refused(path, tmp_path, "klob_c.parquet is missing; build it")
    for number in ("0", "101"):
        refused(path, examples, "locate.k", "--k", number)
    wrong = tmp_path / "wrong"
    wrong.mkdir()
    for name in "cru":
        wrong.joinpath(f"klob_{name}.parquet").write_bytes(examples.joinpath("klob_u.parquet").read_bytes())
    refused(path, wrong, "not all examples are of KLoB-c")
