"""What docs/adding.md names is enough to add what its headings say, but for commands, rules and pages."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support import forked
from support.workflow import ROOT, joined, snakemake

from factdrift.words.templates import read_templates


class Place(NamedTuple):
    """A text that is put into a file: after the lines `behind`, or at its end."""

    file: str
    text: str
    behind: str = ""


UPDATES, NEIGHBORS = (f"workflow/factdrift/{stage}/jobs.py" for stage in ("updates", "neighbors"))
TEMPLATE = (ROOT / "docs/adding.md").read_text("utf-8").split("```\n")[1]
"""The worked example of the page."""

ADDED = [
    Place("resources/templates/templates.tsv", TEMPLATE),
    # An input of `factdrift updates report`: keyword and field.
    Place(
        "rules/updates.smk",
        '        relations="results/{pair}/context/new/relations.parquet",\n',
        '        new=every("results/{pair}/filtered/new/{bucket}.parquet"),\n',
    ),
    Place(UPDATES, "    relations: Path\n", "    old: Paths\n    new: Paths\n"),
    # A setting of `factdrift neighbors search`: key and field.
    Place(
        "config/config.schema.yaml",
        "      reach: {description: How far., type: integer, minimum: 1, maximum: 9, default: 3}\n",
        "  neighbors:\n"
        "    description: Nearest and random facts of each updated group.\n"
        "    type: object\n"
        "    additionalProperties: false\n"
        "    default: {}\n"
        "    properties:\n",
    ),
    Place(
        NEIGHBORS,
        '    reach: Annotated[int, Key("neighbors.reach")]\n',
        '    holding: Annotated[Paths, "what `holding` wrote"]\n'
        '    candidates: Annotated[int, Key("neighbors.entities")]\n',
    ),
    # A layout.
    Place(
        "workflow/factdrift/evaluation/layouts/record.py",
        '    "pairs": Layout("pairs.write", "pairs.read", ("new",)),\n',
        "LAYOUTS = {\n",
    ),
    # A product.
    Place(
        "rules/neighbors.smk",
        """

rule far_neighbors:
    input:
        parts=["results/{pair}/neighbors.parquet"],
    output:
        "results/{pair}/far_neighbors.parquet",
    shell:
        job("neighbors gather")
""",
    ),
    Place(
        "resources/products.yaml",
        "\n- name: far_neighbors.parquet\n  what: The farther facts.\n  category: Dataset\n",
    ),
]
"""What the page's sections add to files that are there."""
NEW_FILES = Path(__file__).with_name("added")
"""The new files: of methods, one with a trained editor, of a layout, a locator and a benchmark."""

PAIR = "results/2021-01-04_2023-02-27"
TARGETS = [f"{PAIR}/preprocess_report.parquet", "results/layouts/pairs.json"]
TARGETS += [f"results/{name}.parquet" for name in ("far_neighbors", "edit_scores", "locate_scores")]
TARGETS.append("results/answer_grid.parquet")


def copied(copy: Path, places: list[Place]) -> Path:
    """Makes a copy of the checkout with these texts in their places."""
    for name in ("config", "profiles", "resources", "rules", "workflow"):
        shutil.copytree(ROOT / name, copy / name)
    for name in ("docs", "envs", "CITATION.cff"):
        (copy / name).symlink_to(ROOT / name)
    shutil.copy2(ROOT / "Snakefile", copy)
    for place in places:
        path = copy / place.file
        text = path.read_text(encoding="utf-8")
        assert text.count(place.behind) == 1 or not place.behind, place
        before, behind, after = text.partition(place.behind) if place.behind else (text, "", "")
        path.write_text(before + behind + place.text + after, encoding="utf-8")
    return copy


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the checkout, from which workflow and package are taken, with everything added."""
    copy = copied(tmp_path / "checkout", ADDED)
    shutil.copytree(NEW_FILES, copy, dirs_exist_ok=True)
    monkeypatch.setenv("PYTHONPATH", str(copy / "workflow"), prepend=os.pathsep)
    monkeypatch.setattr("support.workflow.ROOT", copy)
    return copy


@pytest.mark.slow
def test_the_places_of_the_page_are_enough(checkout):
    templates = read_templates(checkout / "resources/templates/templates.tsv")
    assert templates.of(9999, "")[0] == [line.split("\t")[2] for line in TEMPLATE.splitlines()]
    run = checkout.parent / "run"
    config = {"models": ["sample-llama"], "methods": ["none", "mine", "pupil"], "mine": {"warmth": 8}}
    config |= {"locators": ["warm"], "locate": {"hyper": {"warm": {"warmth": 9}}}}
    config |= {"answer": {"benchmarks": ["capitals2"], "chat": True}, "chat": {"model": "tiny"}}
    capitals = run / PAIR / "capitals.parquet"
    capitals.parent.mkdir(parents=True)
    capitals.touch()
    said = joined(snakemake(run, *TARGETS, "--dry-run", neighbors={"reach": 5}, **config))
    planned = (
        rf"factdrift updates report .* --relations {PAIR}/context/new/relations\.parquet ",
        r"factdrift neighbors search .* --reach=5 ",
        r"""factdrift evaluate --set='{"warmth": "8"}' .* --method=mine """,
        r"""factdrift locate run .* --locator=warm --set='{"warmth": "?9"?}'""",
        rf"factdrift evaluate .* --method=mine .*--benchmark=capitals2 --questions {PAIR}/capitals\.parquet ",
        r"factdrift edit train-editor .* --method=pupil .*--output \S+/sample-llama/pupil\.safetensors",
        r"factdrift evaluate .* --method=pupil .*--editor=\S+/sample-llama/pupil\.safetensors",
        rf"factdrift edit export {PAIR}/wfd_repl\.parquet --layout=pairs .*--output \S+/pairs\.json",
        rf"factdrift chat ask .*{PAIR}/evaluation/chat/capitals2/requests\.parquet ",
        rf"factdrift publish file {PAIR}/far_neighbors\.parquet results/far_neighbors\.parquet$",
    )
    for line in planned:
        assert re.search(rf"^ +{line}", said, re.MULTILINE), line
    said = snakemake(run, TARGETS[0], "--dry-run", fails=True, neighbors={"reach": 10})
    assert "neighbors.reach: 10" in said


@pytest.mark.slow
def test_what_was_added_runs(checkout, tmp_path):
    """Methods edit, the benchmark is asked, the locator scores, a layout is written and read."""
    from support.asking import CPU, saved
    from support.tiny_sentences import FACTS, row
    from support.updates import CLOZES, RULERS, dataset, edits, update

    from factdrift.evaluation.layouts.rows import SCHEMA
    from factdrift.evaluation.locators.sentences import SENTENCES

    def factdrift(*words: object) -> None:
        """Runs a command of the checkout's package."""
        status, _, errors = forked.run(["factdrift", *map(str, words)], tmp_path, forked.quiet())
        assert status == 0, errors

    given = ["--model", saved(tmp_path / "model"), "--parts", tmp_path / "parts"]
    cities = {"id": ["a"], "prompt": ["The capital of Atlantis is"], "targets": [["Poseidonis", "Bo"]]}
    pq.write_table(pa.table(cities), tmp_path / "capitals.parquet")
    table = edits(tmp_path)
    templates = [{"property": 6, "rank": rank, "template": text} for rank, text in enumerate(CLOZES)]
    pq.write_table(pa.Table.from_pylist(templates), tmp_path / "templates.parquet")
    nothing = pq.read_schema(table).empty_table()
    pq.write_table(nothing, tmp_path / "no_edits.parquet")
    line = ["edit", "train-editor", "--method=pupil", *given[:2], "--settings", '{"device": "cpu"}']
    apart: dict[str, Any] = {"neighborhood": [], "random_neighborhood": []}
    facts = [update(subject, number, **apart) for number, subject in enumerate(RULERS, start=1)]
    line += ["--dataset", dataset(tmp_path / "facts.parquet", facts)]
    line += ["--edits", tmp_path / "no_edits.parquet"]
    line += ["--templates", tmp_path / "templates.parquet", f"--out-split={tmp_path / 'pupil_split.json'}"]
    factdrift(*line, f"--output={tmp_path / 'pupil.safetensors'}")
    asked = {"none": ("capitals2", tmp_path / "capitals.parquet")}
    asked |= dict.fromkeys(("mine", "pupil"), ("updates", table))
    needs = {"pupil": [f"--editor={tmp_path / 'pupil.safetensors'}"]}
    for method, (benchmark, questions) in asked.items():
        line = ["evaluate", *given, "--settings", json.dumps(CPU), "--method", method]
        line += ["--benchmark", benchmark, "--questions", questions, f"--out-run={tmp_path / method}.json"]
        tables = ("answers", "edits", "states")
        line += needs.get(method, [])
        factdrift(*line, *(f"--out-{each}={tmp_path / method}.{each}.parquet" for each in tables))
        rows = pq.read_table(tmp_path / f"{method}.answers.parquet").to_pylist()
        assert rows
        assert all(row["logprobs"] for row in rows if row["way"] == "loglik")
        if method == "none":  # a question of a form of its own, in both of its ways
            assert [(row["way"], row["exact"], row["output"] is None) for row in rows] == [
                ("loglik", None, True),
                ("letter", None, False),
            ]
    pq.write_table(
        pa.Table.from_pylist([row(*fact) for fact in FACTS], SENTENCES), tmp_path / "sentences.parquet"
    )
    line = ["locate", "run", *given, "--sentences", tmp_path / "sentences.parquet", "--locator", "warm"]
    line += ["--settings", json.dumps({"edit_device": "cpu", "k": [50], "seed": 1})]
    factdrift(*line, "-o", tmp_path / "located.parquet", "--out-about", tmp_path / "located.json")
    assert json.loads((tmp_path / "located.json").read_text(encoding="utf-8"))["hyper"]["warmth"] == 7
    located = pq.read_table(tmp_path / "located.parquet").to_pylist()
    assert {row["mean"] for row in located if row["reason"] is None} == {1.0}
    made = pq.read_table(tmp_path / "pupil.edits.parquet")
    assert None not in {*made["editor"].to_pylist(), *made["trained"].to_pylist()}
    layout = ["--layout=pairs", "-o"]
    rows = pq.read_table(tmp_path / "dataset.parquet").to_pylist()
    pq.write_table(pa.Table.from_pylist(rows, SCHEMA), tmp_path / "dataset.parquet")
    factdrift("edit", "export", tmp_path / "dataset.parquet", *layout, tmp_path / "pairs.json")
    factdrift("edit", "import", tmp_path / "pairs.json", *layout, tmp_path / "pairs.parquet")
    assert len(pq.read_table(tmp_path / "pairs.parquet")) == len(rows)


FILTER = [
    Place(
        "resources/filters.tsv",
        "\titself\t\tstatements whose subject is their object\n",
        "4\tobject\t\tobjects that would not pass as subjects\n",
    ),
    Place(
        "workflow/factdrift/updates/filters.py",
        '        "itself": "object = subject",\n',
        '        "meta_relation": "coalesce(r.meta, false)",\n',
    ),
    Place(
        "workflow/factdrift/audit/filters.py",
        "        elif statement.object == statement.subject:\n            reason = 'itself'\n",
        '            reason = "object"\n',
    ),
]
"""What the page's section about a filter adds."""

COLUMN = [
    Place(
        "workflow/factdrift/updates/filters.py",
        ', "is_kept: bool"',
        'FILTERED = schema_of(*STATEMENTS, "dropped_by: string"',
    ),
    Place(
        "workflow/factdrift/updates/filters.py",
        ", dropped.is_null()",
        "                yield pa.table([*table.columns, dropped",
    ),
]
"""What the page's section about a column adds, besides its line on the page of the table."""

HAS_COLUMN = """
import tempfile
from pathlib import Path
from support.worlds import Fact, World

facts = [Fact(1, 1000, 7, id="a"), Fact(1, 1000, 8, id="b", rank="deprecated")]
built = World(new=facts).filtered(Path(tempfile.mkdtemp()), "new")
assert {row["statement"]: row["is_kept"] for row in built} == {"a": True, "b": False}, built
"""

AGREE = """
import tempfile
from pathlib import Path
from support import oracle_dumps
from support.worlds import Fact, World, method
from factdrift.audit import filters
from factdrift.pages import meanings

facts = [Fact(1, 1000, 1, id="a"), Fact(1, 1000, 7, id="b"), Fact(1, 1000, 1, id="c", rank="deprecated")]
world = World(new=facts)
built = world.filtered(Path(tempfile.mkdtemp()), "new")
how = method()
how = filters.How(how.variant, how.dates, how.objects, how.merges, how.leaks, how.t_old, how.t_new)
old, new = (oracle_dumps.read(world.tables(which), how) for which in ("old", "new"))
audited = filters.filtered(new, old, new, how.t_new, how)
assert {row["statement"]: row["dropped_by"] for row in built} == audited, (built, audited)
assert audited == {"a": "itself", "b": None, "c": "rank"}, audited
assert meanings()["filter itself"] == "statements whose subject is their object"
"""


@pytest.mark.parametrize(
    ("places", "number", "code"), [(FILTER, 3, AGREE), (COLUMN, 2, HAS_COLUMN)], ids=["filter", "column"]
)
def test_a_filter_takes_three_places_and_a_column_two(places, number, code, tmp_path):
    """A filter: its row, its condition and the audit's. A column: the schema, and the rows that fill it."""
    copy = copied(tmp_path / "checkout", places)
    assert len(places) == number
    paths = os.pathsep.join([str(copy / "workflow"), str(ROOT / "tests")])
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=forked.quiet(PYTHONPATH=paths), check=True)
