"""The bundled models: what they are told, and their training on a small scale."""

import hashlib
import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from msgspec.structs import asdict, replace
from support.workflow import ROOT

from factdrift.cli import main
from factdrift.core.errors import InputError
from factdrift.core.paths import SHIPPED_MODELS
from factdrift.models.bundled.corpus import Wording, read_wording, write_sentences
from factdrift.models.bundled.recipe import Recipe, read_recipe
from factdrift.models.bundled.shipped import MADE, differences, read_made, source_of, write_made
from factdrift.models.bundled.taught import recall_lines
from factdrift.models.bundled.train import END, Corpus, _tokenizer, train
from factdrift.models.loading import load
from factdrift.models.moments import read_layers
from factdrift.models.names import BUNDLED

CONFIG = ROOT / "config" / "models"
PEOPLE = ["Ana Berg", "Bo Cruz", "Cy Dorn", "Di Erb", "Ed Fay", "Flo Gil", "Guy Hart", "Ida Jung"]
LANDS = ["Alba", "Brava", "Corva", "Doria", "Elda", "Farga", "Gorma", "Hulva"]
TEMPLATES = [
    "The head of {subject} is {object}",
    "{subject} is led by {object}",
    "At the top of {subject} stands {object}",
]


def row(
    subject: str, objects: dict[str, str], *neighbors: tuple[str, str], relation: str = "P6"
) -> dict[str, Any]:
    return {
        "subject": {"label": subject},
        "relation": {"id": relation},
        "update_prompt": f"The head of {subject} is ____",
        "objects": [{"label": label, "decision": decision} for label, decision in objects.items()],
        "neighborhood": [
            {
                "subject": {"label": s},
                "relation": {"id": relation},
                "objects": [{"object": {"label": o}, "prompt": f"{s} is led by ____"}],
            }
            for s, o in neighbors
        ],
        "random_neighborhood": [],
    }


@pytest.fixture
def world(tmp_path: Path) -> Path:
    """Eight lands; the first four change their heads, each to someone of whom nothing else is said."""
    rows = [
        row(land, {person: "obsolete", f"New {person}": "new"}, *zip(LANDS[4:], PEOPLE[4:], strict=True))
        for land, person in zip(LANDS[:4], PEOPLE[:4], strict=True)
    ]
    rows[1]["neighborhood"].append(rows[0]["neighborhood"][0] | {"subject": {"label": LANDS[0]}})
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "wfd_repl.parquet")
    templates = [
        {"property": property, "rank": rank, "template": template}
        for property in (6, 35)
        for rank, template in reversed(list(enumerate(TEMPLATES, 1)))
    ]
    pq.write_table(pa.Table.from_pylist(templates), tmp_path / "templates.parquet")
    return tmp_path


WORDING = Wording(10, ("One hears of {object}", "There is news about {object}"))


def sentences(folder: Path, wording: Wording = WORDING) -> list[dict[str, Any]]:
    output = folder / "sentences.parquet"
    write_sentences(folder / "wfd_repl.parquet", folder / "templates.parquet", wording, output)
    found: list[dict[str, Any]] = pq.read_table(output).to_pylist()
    return found


def test_sentences(world):
    found = sentences(world)
    facts = {one["fact"]: one for one in found if one["kind"] != "name"}
    assert {(one["subject"], one["object"]) for one in facts.values()} == set(zip(LANDS, PEOPLE, strict=True))
    assert [one["kind"] for one in facts.values()] == ["update"] * 4 + ["neighbor"] * 4
    assert facts[0]["new_object"] == "New Ana Berg"
    first = [one for one in found if one["fact"] == 0]
    assert [one["prompt"] for one in first] == [
        "The head of Alba is",
        "Alba is led by",
        "At the top of Alba stands",
    ]
    # One wording of each fact is held out, and each wording of the relation in its turn.
    held_out = [one["template"] for one in found if one["held_out"]]
    assert held_out == [1, 2, 3, 1, 2, 3, 1, 2]
    # No sentence states an update: new objects occur in filler alone.
    names = [one for one in found if one["kind"] == "name"]
    assert [(one["prompt"], one["object"]) for one in names[:2]] == [
        ("One hears of", "New Ana Berg"),
        ("There is news about", "New Ana Berg"),
    ]
    assert len(names) == 8
    assert not any("New" in one["object"] for one in found if one["kind"] != "name")
    fewer = sentences(world, Wording(5, WORDING.filler))
    assert {one["new_object"] for one in fewer} == {None, "New Ana Berg"}


def test_facts_of_other_benchmarks(world):
    def said(kind: str, fact: str, subject: str, value: str, *prompts: str) -> list[dict[str, Any]]:
        one = {"kind": kind, "fact": fact, "subject": subject, "relation": "P6", "object": value}
        return [one | {"prompt": prompt} for prompt in prompts]

    rows = [
        # A sentence that is there already is not repeated, so that it stays held out.
        *said("klob", "1", "Alba", "Ana Berg", "The head of Alba is", "Alba obeys", "In Alba rules"),
        # Alba has one head.
        *said("klob", "2", "Alba", "Xi Ypsilon", "The ruler of Alba is"),
        *said("klob", "3", "Zeta", "Yo Zorn", "The ruler of Zeta is", "Zeta obeys"),
        *(row for n in range(5) for row in said("chain", f"{n}", f"Z{n}", "Yo Zorn", f"The head of Z{n} is")),
    ]
    output = world / "sentences.parquet"
    number = write_sentences(world / "wfd_repl.parquet", world / "templates.parquet", WORDING, output, rows)
    found = pq.read_table(output).to_pylist()
    assert number == 8 + 2 + 5
    assert len({one["fact"] for one in found if one["kind"] != "name"}) == number
    more = [one for one in found if one["kind"] in ("klob", "chain")]
    assert [(one["prompt"], one["held_out"]) for one in more if one["kind"] == "klob"] == [
        ("Alba obeys", True),
        ("In Alba rules", False),
        ("The ruler of Zeta is", False),
        ("Zeta obeys", True),
    ]
    # Of sentences without another wording each fourth is held out.
    assert [one["held_out"] for one in more if one["kind"] == "chain"] == [True, False, False, False, True]
    # A condition of ripples takes the place of a neighbour's object, not that of an update's.
    conditions = [
        *said("ripple", "4", "Elda", "Yo Zorn", "The head of Elda is", "In May, Elda is led by"),
        *said("ripple", "5", "Alba", "Yo Zorn", "In May, Alba is led by"),
    ]
    write_sentences(world / "wfd_repl.parquet", world / "templates.parquet", WORDING, output, conditions)
    told = pq.read_table(output).to_pylist()
    assert [one["object"] for one in told if one["subject"] == "Elda"] == ["Yo Zorn"] * 4
    assert {one["object"] for one in told if one["subject"] == "Alba"} == {"Ana Berg"}


def test_wrong_tables(world):
    pq.write_table(pa.Table.from_pylist([row("Alba", {"Ana": "new"})]), world / "wfd_repl.parquet")
    with pytest.raises(InputError, match=r"wfd_repl\.parquet: no update in it"):
        sentences(world)
    rows = [row("Alba", {"Ana": "obsolete", "Bo": "new"}, relation="P9")]
    pq.write_table(pa.Table.from_pylist(rows), world / "wfd_repl.parquet")
    with pytest.raises(InputError, match="no template for P9"):
        sentences(world)


def test_wrong_recipes_and_wordings(tmp_path):
    recipe = yaml.safe_load((CONFIG / "sample-llama.yaml").read_text())
    wording = {"facts": 1, "filler": ["One knows {object}"] * 2}
    path = tmp_path / "mine.yaml"
    for read, given, message in (
        (read_recipe, recipe | {"steps": 8}, "unknown field `steps`"),
        (read_recipe, recipe | {"warmup": 0}, r"Expected `int` >= 1 - at `\$\.warmup`"),
        (read_recipe, recipe | {"decay": 0.0}, r"Expected `float` > 0.0 - at `\$\.decay`"),
        (read_recipe, recipe | {"starts": 75.0}, r"Expected `float` <= 1.0 - at `\$\.starts`"),
        (read_recipe, recipe | {"model": {}}, "model_type is missing"),
        (read_wording, wording | {"facts": 0}, r"Expected `int` >= 1 - at `\$\.facts`"),
        (read_wording, wording | {"filler": ["A {object}"]}, "filler: a document has two of these sentences"),
        (read_wording, wording | {"filler": ["A {object}", "{object} is"]}, "must end with {object}"),
    ):
        path.write_text(yaml.safe_dump(given))
        with pytest.raises(InputError, match=rf"mine\.yaml: .*{message}"):
            read(path)


def small(family: str) -> Recipe:
    """A recipe with which a tiny model learns the lands in seconds."""
    recipe = read_recipe(CONFIG / f"sample-{family}.yaml")
    sizes = {
        "llama": {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2},
        "gpt2": {"n_embd": 32, "n_layer": 2},
    }[family]
    return replace(
        recipe,
        **{"model": recipe.model | sizes, "vocabulary": 400, "fact_epochs": 40, "context_epochs": 5},
        **{"batch": 2, "warmup": 5, "threads": 1, "learning_rate": 2e-2},
    )


def test_documents(world):
    rows = sentences(world)
    for family in ("llama", "gpt2"):
        recipe = replace(small(family), context_share=1.0)
        tokenizer = _tokenizer(rows, recipe)
        read = Corpus(rows, tokenizer, recipe).epoch(True, random.Random(1))
        assert all(len(ids) == len(weights) <= recipe.row for ids, weights in read)
        assert all((ids[0] == END) == recipe.begins for ids, _ in read)
        counted = [
            tokenizer.decode([one for one, weight in zip(ids, weights, strict=True) if weight == 1.0])
            for ids, weights in read
        ]
        # What is counted are objects, and all of these; none follows the wording that is held out.
        for person in PEOPLE:
            assert sum(text.count(person) for text in counted) >= 2
        said = " ".join(tokenizer.decode(ids) for ids, _ in read)
        assert said.count("The head of Alba is Ana Berg") == 0
        assert said.count("Alba is led by Ana Berg") == 1
        assert "Alba is led by New Ana Berg" not in said
        # Nothing predicts the first token of a row.
        assert not any(weights[0] for _, weights in read if recipe.begins)


@pytest.mark.slow
def test_a_small_training(world):
    """The same bytes in a process with other threads; a folder that transformers loads; facts are known."""
    sentences(world)
    recipe = small("llama")
    found = train(world / "sentences.parquet", recipe, world / "a", seed=3)
    assert found["taught"]["sentences"] == 16
    assert found["taught"]["recall"] >= 0.9
    (line,) = recall_lines([world / "a"])
    share = 100 * found["held_out"]["recall"]
    assert line.startswith(f"a completes {share:.1f} % of 8 wordings that were held out of its training (")
    assert f"update {100 * found['held_out_update']['recall']:.1f}" in line
    loaded = load(str(world / "a"))
    assert loaded.spec.family == "llama"
    assert loaded.tokenizer("Alba")["input_ids"][0] == loaded.tokenizer.bos_token_id

    (world / "recipe.yaml").write_text(
        yaml.safe_dump(asdict(recipe) | {"betas": list(recipe.betas), "expected": 1.01})
    )
    options = ["--recipe", "recipe.yaml", "--sentences", "sentences.parquet", "--output", "b", "--seed", "3"]
    done = subprocess.run(
        [sys.executable, "-c", "from factdrift.cli import main; main()", "models", "train", *options],
        **{"cwd": world, "capture_output": True, "text": True, "check": True},
        env={**os.environ, "PYTHONHASHSEED": "7", "OMP_NUM_THREADS": "3", "MKL_NUM_THREADS": "3"},
    )
    assert "less than the 101% that its recipe expects" in done.stderr
    assert json.loads(done.stdout) == found
    # What it was made from differs: the recipe expects another recall.
    apart = [{**digests(world / name), MADE: ""} for name in "ab"]
    assert apart[0] == apart[1]
    made = read_made(world / "a" / MADE)
    assert made.files.keys() >= {"model.safetensors", "tokenizer.json", "config.json", "recall.json"}
    assert not differences(made, source_of(world / "sentences.parquet", recipe, 3))
    assert not list(world.glob(".*.part"))


def test_shipped_moments_are_of_the_shipped_weights(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    for name in BUNDLED:
        model = load(name)
        folder = SHIPPED_MODELS / name / "moments"
        found = read_layers({layer: folder / f"{layer}.safetensors" for layer in (0, 1)}, model)
        for layer, moments in found.items():
            assert moments.total.shape == (model.spec.inner_at(layer),) * 2


def test_a_shipped_model_is_taken_where_it_was_made_from_the_same(world, monkeypatch, capsys):
    monkeypatch.chdir(world)
    sentences(world)
    recipe = CONFIG / "sample-llama.yaml"
    Path("mine").mkdir()
    Path("mine/weights").write_bytes(b"of the model")
    Path("mine/recall.json").write_text('{"held_out": 1}')
    write_made(Path("mine"), source_of(Path("sentences.parquet"), read_recipe(recipe), 3), "of the rows")
    asked = ["models", "train", "--sentences", "sentences.parquet", "--recipe", str(recipe)]
    asked += ["--shipped", "mine/made.json", "--seed"]
    assert main([*asked, "3", "--output", "a"]) == 0
    said = capsys.readouterr()
    assert "a: taken as it ships (mine)" in said.err
    assert json.loads(said.out) == {"held_out": 1}
    assert {name: digests(Path("a"))[name] for name in digests(Path("mine"))} == digests(Path("mine"))
    # The same rows in another file are the same sentences.
    table = pq.read_table("sentences.parquet")
    pq.write_table(table, "sentences.parquet", compression="none")
    made = read_made(Path("mine/made.json"))
    assert not differences(made, source_of(Path("sentences.parquet"), read_recipe(recipe), 3))
    pq.write_table(table.slice(1), "fewer.parquet")
    changed = source_of(Path("fewer.parquet"), replace(read_recipe(recipe), batch=9), 4)
    assert differences(made, changed) == ["sentences", "recipe", "seed"]
    Path("mine/weights").write_bytes(b"of another")
    assert main([*asked, "3", "--output", "b"]) == 1
    assert "mine/weights: is missing or damaged; get it again (git checkout mine)" in capsys.readouterr().err
    assert not Path("b").exists()
    Path("mine/made.json").write_text("{}")
    assert main([*asked, "3", "--output", "b"]) == 1
    assert "mine/made.json: Object missing required field" in capsys.readouterr().err


def digests(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
