"""Scores as files, and the command that reads them."""

from __future__ import annotations

import json
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
from factdrift.klob.scoring.locator import Scores, read_scores, write_scores

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
    write_scores(Scores(**known, sentences=names, dense=dense), path)
    return path


def listed(dense: Path, path: Path, number: int) -> Path:
    """The same scores as lists of the best units."""
    scores = read_scores(dense)
    array = np.asarray(scores.dense, np.float64)
    top = np.argsort(-array, axis=1, kind="stable")[:, :number].astype(np.int32)
    write_scores(scores._replace(dense=None, top=top, mean=array.mean(axis=1), sd=array.std(axis=1)), path)
    return path


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
    assert (
        main(["klob", "score", f"{tmp_path}/my_method", "--examples", str(examples), "-o", f"{tmp_path}/o"])
        == 0
    )
    said = capsys.readouterr().out
    assert "RSim at k = 1 % (K = 10, 1 % of the units): 0." in said
    assert "RSD" in said


def test_best_units_give_the_same_as_all_scores(examples: Path, tmp_path: Path) -> None:
    dense = folder(examples, tmp_path / "dense")
    short = listed(dense, tmp_path / "short", 40)
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
    with pytest.raises(InputError, match=r"k = 50 % of 200 units are 100, but units.npy lists 40"):
        score(short, examples, "--k", "50")
    with pytest.raises(InputError, match="fractional ties need all scores"):
        score(short, examples, "--ties", "fractional")
    with pytest.raises(InputError, match="mean score vectors need all scores"):
        score(short, examples, "--unit", "examples")


def score(path: Path, examples: Path, *more: str) -> None:
    """The command, with its errors as they are raised."""
    from factdrift.cli import parser
    from factdrift.core.jobs import record

    options = parser().parse_args(["klob", "score", str(path), "--examples", str(examples), *more])
    record(options.job, options).run()


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
    assert locators == {"dense", "mostly_constant", "random", "oracle", "lexical"}
    said = capsys.readouterr().out
    assert "RSim of random at k = 1 %: KLoB-c 0.0" in said
    assert "RSim above permuted of mostly_constant at k = 1 %: KLoB-c " in said
    assert "RSim of lexical: KLoB-c 0." in said
    figure = outputs[0].joinpath("rsim.svg").read_text(encoding="utf-8")
    assert figure.startswith("<?xml")


def test_paper_approximation_and_examples_are_added_to_the_exact_value(
    examples: Path, tmp_path: Path
) -> None:
    dense = folder(examples, tmp_path / "dense")
    output = tmp_path / "out"
    choices = ["--sim-all=paper_approx", "--unit=examples", "--normalise=rank", "--rsd-pool=subtasks"]
    arguments = ["--examples", str(examples), "--no-references", "-o", str(output), "--k", "1", *choices]
    assert main(["klob", "score", str(dense), *arguments]) == 0
    table = pq.read_table(output / "measures.parquet").to_pylist()
    assert {"paper_approx", "examples", "all"} <= {row["population"] for row in table}


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"granularity": "neuron"}, "granularity is 'head' and 'neuron'"),
        ({"units": 100}, "units is 200 and 100"),
        ({"model": "other"}, "model is 'm' and 'other'"),
    ],
)
def test_methods_of_other_units_are_not_compared(
    examples: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], more: dict[str, Any], said: str
) -> None:
    one, other = folder(examples, tmp_path / "one"), folder(examples, tmp_path / "other", **more)
    assert main(["klob", "score", str(one), str(other), "--examples", str(examples)]) == 1
    assert said in capsys.readouterr().err


def spoil(path: Path, **keys: Any) -> None:
    known = json.loads(path.joinpath("scores.json").read_text(encoding="utf-8"))
    path.joinpath("scores.json").write_text(json.dumps(known | keys), encoding="utf-8")


def test_faulty_folders_are_refused_with_the_reason(examples: Path, tmp_path: Path) -> None:
    path = folder(examples, tmp_path / "dense")
    with pytest.raises(InputError, match=r"nowhere.scores.json is missing; what a folder of scores holds"):
        read_scores(tmp_path / "nowhere")
    for keys, said in (
        ({"name": 7}, "name: 7 is no text"),
        ({"units": 0}, "units: 0 is no number of units"),
        ({"units": "many"}, "units: 'many' is no number"),
        ({"granularity": "cell"}, "granularity: 'cell' is none of weight, neuron"),
        ({"sign": "minus"}, "sign: 'minus' is none of as_given"),
        (
            {"units": 7},
            r"scores.npy: floating numbers of shape 240 x 7 are expected, there are float32 of shape 240 x",
        ),
    ):
        spoil(path, **keys)
        with pytest.raises(InputError, match=said):
            read_scores(path)
        spoil(path, name="dense", units=UNITS, granularity="head", sign="as_given")
    read_scores(path)
    np.save(path / "units.npy", np.zeros((240, 3), np.int32))
    with pytest.raises(InputError, match=r"both scores\.npy and units\.npy"):
        read_scores(path)
    (path / "scores.npy").unlink()
    with pytest.raises(InputError, match=r"units.npy: row 0: the unit 0 is listed twice"):
        read_scores(path)
    np.save(path / "units.npy", np.tile([0, 1, UNITS], (240, 1)))
    with pytest.raises(InputError, match=r"row 0: the unit 200 is listed twice or is not one of 0 to 199"):
        read_scores(path)
    np.save(path / "units.npy", np.tile([0, 1, 2], (240, 1)))
    with pytest.raises(InputError, match=r"mean.npy is missing"):
        read_scores(path)
    spoil(path, sign="abs")
    with pytest.raises(InputError, match="sign abs needs all scores"):
        read_scores(path)
    names = path.joinpath("sentences.txt").read_text(encoding="utf-8")
    path.joinpath("sentences.txt").write_text(names + "c0.0\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"the sentence c0\.0 is listed twice"):
        read_scores(path)
    path.joinpath("sentences.txt").write_bytes(names.encode() + b"\xe9\n")
    with pytest.raises(InputError, match=r"sentences.txt, line 241: byte 0xe9 is not UTF-8"):
        read_scores(path)
    path.joinpath("sentences.txt").write_text(names, encoding="utf-8")
    path.joinpath("units.npy").write_bytes(b"")
    spoil(path, sign="as_given")
    with pytest.raises(InputError, match=r"units.npy: no NumPy array: No data left in file"):
        read_scores(path)
    path.joinpath("scores.json").write_text("{", encoding="utf-8")
    with pytest.raises(InputError, match=r"scores.json: no JSON"):
        read_scores(path)


def test_signs_are_applied(examples: Path, tmp_path: Path) -> None:
    path = folder(examples, tmp_path / "dense")
    given = read_scores(path).signed(slice(None))
    spoil(path, sign="abs")
    assert (read_scores(path).signed(slice(None)) == np.abs(given)).all()
    spoil(path, sign="relu")
    assert (read_scores(path).signed(slice(None)) == np.maximum(given, 0)).all()


def test_reference_locators_as_files(examples: Path, tmp_path: Path) -> None:
    for kind in ("constant", "random", "oracle"):
        path = tmp_path / kind
        arguments = ["--examples", str(examples), "--units", "50", "-o", str(path)]
        assert main(["klob", "locate", kind, *arguments]) == 0
        assert len(read_scores(path).sentences) == 240
    assert main(["klob", "locate", "random", "--examples", str(examples), "--units", "0", "-o", "x"]) == 1


def test_files_of_a_user_are_not_replaced(
    examples: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Scores of an own locator, and a table with the name of one that is written."""
    own = tmp_path / "mine"
    own.mkdir()
    for name in ("scores.json", "scores.npy", "measures.parquet"):
        (own / name).write_text("of the user")
    line = ["--examples", str(examples), "--units", "50", "-o", str(own)]
    assert main(["klob", "locate", "random", *line]) == 1
    assert "measures.parquet in it was not written there by factdrift" in capsys.readouterr().err
    scores = folder(examples, tmp_path / "dense")
    line = ["--examples", str(examples), "-o", str(own)]
    assert main(["klob", "score", str(scores), *line]) == 1
    assert f"{own}/measures.parquet: was not written by this command" in capsys.readouterr().err
    assert {path.read_text() for path in own.iterdir()} == {"of the user"}


def test_missing_examples_and_absurd_k(examples: Path, tmp_path: Path) -> None:
    path = folder(examples, tmp_path / "dense")
    with pytest.raises(InputError, match=r"klob_c.parquet is missing; build it"):
        score(path, tmp_path)
    for text in ("0", "101", "x", "1/0"):
        with pytest.raises(InputError, match="is no percentage above 0 and up to 100"):
            score(path, examples, "--k", text)
    with pytest.raises(InputError, match="--headline: 'x' is no percentage"):
        score(path, examples, "--headline", "x")
    wrong = tmp_path / "wrong"
    wrong.mkdir()
    for name in "cru":
        wrong.joinpath(f"klob_{name}.parquet").write_bytes(examples.joinpath("klob_u.parquet").read_bytes())
    with pytest.raises(InputError, match="not all examples are of KLoB-c"):
        score(path, wrong)
