"""What docs/adding.md names is enough to add what its headings say, but for commands, rules and pages."""

import json
import os
import re
import shutil
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support import forked
from support.workflow import ROOT, joined, snakemake

from factdrift.verbalize.templates import read_templates


class Place(NamedTuple):
    """A text that is put into a file: after the lines `behind`, or at its end, which makes a new file."""

    file: str
    text: str
    behind: str = ""


UPDATES, NEIGHBORS = (f"workflow/factdrift/{stage}/jobs.py" for stage in ("updates", "neighbors"))
EVALUATION = "workflow/factdrift/evaluation"
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
        '    holding: Annotated[Paths, "what `holding` wrote"]\n',
    ),
    # A method, a locator and a benchmark.
    Place(
        "config/methods/mine.yaml",
        "record: {title: Mine, edit: mine.mine, changes: text}\n"
        "keys:\n"
        "  warmth: {description: How warm., type: integer, minimum: 1, default: 7}\n",
    ),
    Place(
        f"{EVALUATION}/methods/mine.py",
        "from factdrift.evaluation.methods.interface import Edited\n\n\n"
        "def mine(loaded, edits, hyper, artefacts):\n"
        '    return Edited(contexts=["True: "] * len(edits))\n',
    ),
    Place(
        "config/locators/warm.yaml",
        "record: {title: warmth of each block, function: warm.warm}\n"
        "keys:\n"
        "  granularity: {description: The units., enum: [layer], default: layer}\n"
        "  warmth: {description: How warm., type: integer, minimum: 1, default: 7}\n",
    ),
    Place(
        f"{EVALUATION}/locators/warm.py",
        "import torch\n\n\n"
        "def warm(loaded, sentences, targets, context):\n"
        "    return torch.ones(len(sentences), loaded.spec.layers)\n",
    ),
    Place(
        "config/benchmarks/capitals2.yaml",
        "read: capitals.read\n"
        "questions: ['results/{pair}/capitals.parquet']\n"
        "options: true\n"
        "always: [loglik]\n"
        "target: results/capitals.parquet\n",
    ),
    Place(
        f"{EVALUATION}/questions/capitals.py",
        "import pyarrow.parquet as pq\n\n"
        "from factdrift.evaluation.questions.question import Benchmark, Question\n\n\n"
        "def read(tables):\n"
        "    rows = pq.read_table(tables.questions[0]).to_pylist()\n"
        "    own = {'form': '{context} Name the letter. {question} {options}', 'exact': False}\n"
        "    own |= {'ways': ('loglik', 'letter'), 'unedited': True}\n"
        "    of = ('id', 'prompt', 'targets')\n"
        "    asked = [Question(**{name: row[name] for name in of}, **own) for row in rows]\n"
        "    return Benchmark('capitals2', asked)\n",
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
    log:
        "logs/{pair}/far_neighbors.txt",
    shell:
        job("neighbors gather")
""",
    ),
    Place(
        "resources/products.yaml",
        "\n- name: far_neighbors.parquet\n  what: The farther facts.\n  category: Dataset\n",
    ),
]
"""What the page's sections add, each in one or two files."""

PAIR = "results/2021-01-04_2023-02-27"
TARGETS = [
    f"{PAIR}/preprocess_report.parquet",
    "results/far_neighbors.parquet",
    "results/edit_scores.parquet",
    "results/locate_scores.parquet",
    "results/answer_grid.parquet",
]


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the checkout, from which workflow and package are taken, with everything added."""
    copy = tmp_path / "checkout"
    for name in ("config", "profiles", "resources", "rules", "workflow"):
        shutil.copytree(ROOT / name, copy / name)
    for name in ("docs", "envs", "CITATION.cff"):
        (copy / name).symlink_to(ROOT / name)
    shutil.copy2(ROOT / "Snakefile", copy)
    for place in ADDED:
        path = copy / place.file
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        assert text.count(place.behind) == 1 or not place.behind, place
        before, behind, after = text.partition(place.behind) if place.behind else (text, "", "")
        path.write_text(before + behind + place.text + after, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(copy / "workflow"), prepend=os.pathsep)
    monkeypatch.setattr("support.workflow.ROOT", copy)
    return copy


def test_the_places_of_the_page_are_enough(checkout: Path) -> None:
    templates = read_templates(checkout / "resources/templates/templates.tsv")
    assert templates.of(9999, "")[0] == [line.split("\t")[2] for line in TEMPLATE.splitlines()]
    run = checkout.parent / "run"
    config = {"models": ["sample-llama"], "methods": ["none", "mine"], "mine": {"warmth": 8}}
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
        rf"factdrift chat ask .*{PAIR}/evaluation/chat/capitals2/requests\.parquet ",
        rf"factdrift publish file {PAIR}/far_neighbors\.parquet results/far_neighbors\.parquet$",
    )
    for line in planned:
        assert re.search(rf"^ +{line}", said, re.MULTILINE), line
    said = snakemake(run, TARGETS[0], "--dry-run", fails=True, neighbors={"reach": 10})
    assert "neighbors.reach: 10" in said


@pytest.mark.slow
def test_what_was_added_runs(checkout: Path, tmp_path: Path) -> None:
    """The method edits, the benchmark is asked, the locator scores: of a model, with what two files say."""
    pytest.importorskip("torch", reason="language models are installed with `make models`")
    from support.asking import CPU, saved
    from support.tiny_sentences import FACTS, row
    from support.updates import edits

    from factdrift.evaluation.locators.sentences import SENTENCES

    def factdrift(*words: object) -> None:
        """Runs a command of the checkout's package."""
        status, _, errors = forked.run(["factdrift", *map(str, words)], tmp_path, forked.quiet())
        assert status == 0, errors

    given = ["--model", saved(tmp_path / "model"), "--parts", tmp_path / "parts"]
    cities = {"id": ["a"], "prompt": ["The capital of Atlantis is"], "targets": [["Poseidonis", "Bo"]]}
    pq.write_table(pa.table(cities), tmp_path / "capitals.parquet")
    asked = {"none": ("capitals2", tmp_path / "capitals.parquet"), "mine": ("updates", edits(tmp_path))}
    for method, (benchmark, questions) in asked.items():
        line = ["evaluate", *given, "--settings", json.dumps(CPU), "--method", method]
        line += ["--benchmark", benchmark, "--questions", questions, f"--out-run={tmp_path / method}.json"]
        tables = ("answers", "edits", "states")
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
