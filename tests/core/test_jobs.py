"""Job records: flags, help, shell lines and the keywords of rules come from one class."""

import argparse
import contextlib
import datetime
import re
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import msgspec
import pytest

from factdrift.cli import parser
from factdrift.core.errors import InputError
from factdrift.core.jobs import JOBS, Day, Flag, Job, Key, Output, Paths, Place, add_job, fields, record
from factdrift.core.keys import description_of, is_struct, listing
from factdrift.core.shell import check_keywords, parameter_of, shell_line
from factdrift.core.switches import Variant


class Sides(NamedTuple):
    before: Path
    after: Path


class Shape(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    entities: int
    facts: int


class Shared(Job):
    seed: Annotated[int, Key("seed")]
    threads: int = 1


class Toy(Shared, command="toy do", implied_inputs="words"):
    """Does nothing, in 100 % of all cases.

    factdrift toy do --sides a b ...
    """

    sides: Annotated[Sides, "the two tables"]
    parts: Paths
    labels: Paths = ()
    only: Path | None = None
    kind: Literal["plain", "odd"] = "plain"
    names: Annotated[tuple[str, ...], Key("only.relations"), Flag("P")]
    loud: bool = False
    note: str = ""
    day: datetime.date = datetime.date(2021, 1, 4)
    written: Day = "2021-01-04"
    variant: Annotated[Variant, Key("variant")]
    dates: Annotated[Literal["first_day", "interval"], Key("dates")]
    shape: Annotated[Shape, Key("neighbors")]
    weights: Annotated[dict[str, int], Key("undersample")]
    store: Place
    output: Output
    more: Annotated[Output, "the rest", Flag("PARQUET")]

    def run(self) -> str:
        return f"{len(self.parts)} parts"


REQUIRED = ["--sides", "a", "b", "--parts", "c", "d", "--store", "s", "--output", "o", "--more", "m"]


@pytest.fixture(autouse=True, scope="module")
def forgotten():
    """The commands of the package do not have the toy afterwards."""
    yield
    del JOBS["toy do"]


def parsed(*words: str) -> Toy:
    parser = argparse.ArgumentParser()
    add_job(parser.add_subparsers(), "do", Toy)
    return record(Toy, parser.parse_args(["do", *words]))


def test_flags_have_the_types_of_their_fields_and_the_defaults_of_the_schema():
    given = "--only x --kind=odd --names P6 P35 --loud --note=-1 --seed 7 --day 2023-02-27"
    job = parsed(*REQUIRED, *given.split())
    assert job.sides == Sides(Path("a"), Path("b"))
    assert job.parts == (Path("c"), Path("d"))
    assert (job.only, job.kind, job.names) == (Path("x"), "odd", ("P6", "P35"))
    assert (job.loud, job.note, job.seed, job.threads) == (True, "-1", 7, 1)
    assert job.day == datetime.date(2023, 2, 27)
    assert job.run() == "2 parts"
    job = parsed(*REQUIRED, "--shape", '{"facts": 3}', "--weights", '{"P1082": 2}')
    assert (job.seed, job.names, job.shape, job.weights) == (0, (), Shape(500, 3), {"P1082": 2})
    assert (job.labels, job.only, job.kind, job.loud) == ((), None, "plain", False)
    assert parsed(*REQUIRED, "--loud=True").loud
    assert not parsed(*REQUIRED, "--loud", "false").loud


def test_a_list_stands_for_the_files_that_it_names(tmp_path: Path) -> None:
    (tmp_path / "every.files").write_text("# made 1\n0-of-2.parquet\n1-of-2.parquet\n")
    job = parsed(*REQUIRED, "--parts", "first", str(tmp_path / "every.files"))
    assert job.parts[-3:] == (Path("first"), tmp_path / "0-of-2.parquet", tmp_path / "1-of-2.parquet")
    with pytest.raises(InputError, match=r"none\.files: No such file or directory; it lists files"):
        parsed(*REQUIRED, "--parts", str(tmp_path / "none.files"))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--output table", "--output: table: is the input --parts as well"),
        ("--output link", "--output: link: is the input --parts as well"),
        ("--output hard", "--output: hard: is the input --parts as well"),
        ("--output ./sub/../table", "is the input --parts as well"),
        ("--output new --only new", "--output: new: is the input --only as well"),
        ("--output sub", "--output: sub: holds the input --sides sub/before"),
        ("--output . --only sub", r"--output: \.: holds the input --sides sub/before"),
        ("--output sub/other --only sub", "--output: sub/other: is a file of the input --only sub"),
        ("--output same --more same", "--output: same: is the same file as --more: same"),
        ("--output hard2 --more other", "--output: hard2: is the same file as --more: other"),
        ("--output dangling --more gone", "--output: dangling: is the same file as --more: gone"),
        ("--output sub/new --only sub", ""),
        ("--output other --more link2", ""),
        ("--output /dev/null --more /dev/null", ""),
    ],
)
@pytest.mark.usefixtures("here")
def test_an_output_is_no_input_and_no_other_output(words: str, message: str) -> None:
    Path("sub").mkdir()
    for name in ("table", "other", "third", "sub/before", "sub/after", "sub/other"):
        Path(name).write_text(name)
    for name, target in (("link", "table"), ("link2", "third"), ("dangling", "gone")):
        Path(name).symlink_to(target)
    for name, target in (("hard", "table"), ("hard2", "other")):
        Path(name).hardlink_to(target)
    line = ["--sides", "sub/before", "sub/after", "--parts", "table", "--store", "s", "--more", "m"]
    with pytest.raises(InputError, match=message) if message else contextlib.nullcontext():
        parsed(*line, *words.split())
    assert Path("table").read_text() == "table"


def test_what_a_rule_leaves_empty_has_its_default():
    job = parsed(*REQUIRED, "--only=", "--labels", "--loud=False", "--note=", "--seed=")
    assert (job.only, job.labels, job.loud, job.note, job.seed) == (None, (), False, "", 0)
    assert parsed(*REQUIRED, "--only=~/x").only == Path.home() / "x"  # the shell has left the ~


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--shape", '{"facts": -1}'], "--shape: neighbors.facts: -1 is less than the minimum"),
        (["--shape", '{"colour": 1}'], "--shape: Object contains unknown field `colour`"),
        (["--names", "6"], "--names: only.relations: '6' does not match"),
        (["--weights", "many"], "--weights: not JSON"),
        (["--weights", '{"P6": 1, "P6": 2}'], "--weights: not JSON: a key is there twice: 'P6'"),
        (["--more", "x.csv"], "--more: x.csv: name a file that ends with .parquet"),
        (["--threads", "-1"], "--threads: -1 is below 0 or above 9223372036854775807"),
        (["--threads", f"{1 << 63}"], "--threads: 9223372036854775808 is below 0 or above"),
    ],
)
def test_a_value_that_cannot_be_is_named(words: list[str], message: str):
    with pytest.raises(InputError, match=message.replace("`", ".")):
        parsed(*REQUIRED, *words)


def test_what_is_no_value_of_a_flag_is_refused(capsys: pytest.CaptureFixture[str]):
    wrong = ("--kind new", "--sides a", "--loud=perhaps", "--seed x", "--less", "--day 2021-02-30")
    for words in (*wrong, "--written x"):
        with pytest.raises(SystemExit):
            parsed(*REQUIRED, *words.split())
        assert re.split("[ =]", words)[0] in capsys.readouterr().err


def test_help_has_docstring_fields_and_keys(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit):
        parsed("--help")
    said = capsys.readouterr().out
    for text in (
        *("in 100 % of all cases.", "factdrift toy do --sides a b", "--sides BEFORE AFTER", "the two tables"),
        *("Property ids", "keys of --shape ('neighbors' in the configuration)", "[default: 2021-01-04]"),
    ):
        assert text in said


KEYWORDS = {
    "input": {"sides", "parts", "labels", "only", "words"},
    "output": {"output", "more"},
    "params": {
        *("code", "seed", "kind", "names", "loud", "note", "day", "written", "variant", "dates"),
        *("shape", "weights", "store"),
    },
    "resources": {"mem_mb"},
}


@pytest.mark.parametrize(
    ("part", "gone", "new", "without", "message"),
    [
        ("input", "sides", None, "", "rule r: input has no keyword sides, a field of toy do"),
        ("input", None, "tables", "", "rule r: input has the keyword tables, which is no field of toy do"),
        ("output", "output", None, "", "rule r: output has no keyword output"),
        ("params", "note", None, "", "rule r: params has no keyword note"),
        ("input", "parts", None, "parts", "rule r: toy do needs parts, which has no default"),
        ("input", "labels", None, "labels", ""),
        ("resources", None, "gpu", "", ""),
    ],
)
def test_keywords_and_fields_are_the_same(part: str, gone: str, new: str, without: str, message: str):
    keywords = {name: set(values) for name, values in KEYWORDS.items()}
    keywords[part] = keywords[part] - {gone} | ({new} if new else set())
    with pytest.raises(InputError, match=message) if message else contextlib.nullcontext():
        check_keywords("rule r", shell_line((Toy,), without), keywords)


def test_a_switch_that_is_not_given_is_the_variants() -> None:
    assert parsed(*REQUIRED).dates == "first_day"
    assert parsed(*REQUIRED, "--variant=revised").dates == "interval"
    assert parsed(*REQUIRED, "--variant=revised", "--dates=first_day").dates == "first_day"


def test_every_key_of_a_field_is_in_the_schema():
    parser()  # which imports all records
    for job in JOBS.values():
        for field in (each for each in fields(job) if each.key):
            if is_struct(field.kind):
                assert listing(field.kind, field.key)
            else:
                assert description_of(field.key), f"{job.command}: {field.key}"
    misspelt = fields(Toy)[-1]._replace(key="neighbors.entitys")
    with pytest.raises(KeyError):
        parameter_of({"neighbors": {}}, misspelt)
