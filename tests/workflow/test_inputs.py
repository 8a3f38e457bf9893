"""Other files in the place of the user's, older ones too: jobs run again; no account names the wrong ones."""

import json
import os
import re
import shutil
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.odd_dumps import NEW, OLD, write_dumps
from support.workflow import ROOT, run_here, snakemake

from factdrift.cli import main
from factdrift.core.settings import months_before

MONTHS = [f"views/{month}.parquet" for month in months_before(date.fromisoformat(NEW), 12)]
MINE = "def locate(model, sentences, targets): ...\ndef edit(model, tokenizer, update): ...\n"
"""Files of the user, by the key of the configuration that names each or its folder."""
FILES = {
    "labels": "labels.tsv",
    "only.subjects": "subjects.txt",
    "pageviews": MONTHS[3],
    "templates_file": "templates.json",
    "klob.templates": "klob.tsv",
    "klob.u.words": "words.txt",
    "klob.r.mquake": "mquake.json",
    "klob.recall.demos": "demos.json",
    "klob.recall.model": "known/model.safetensors",
    "models": "model/model.safetensors",
    "methods": "mine.py",
    "rag.encoder": "encoder/vocab.txt",
    "locators": "locate.py",
    "locators, a folder": "theirs/units.npy",
    "edit.dataset": "dataset.parquet",
    "edit.ripples": "probes.parquet",
    "edit.checkpoints": "mend.pt",
    "edit.ability.text": "held.txt",
    "edit.ability.tasks": "task.yaml",
    "moments.corpus": "corpus.txt",
}
CONFIG: dict[str, Any] = {
    "labels": ["labels.tsv"],
    "only": {"subjects": "subjects.txt"},
    "pageviews": "views",
    "verbalizer": "file",
    "templates_file": "templates.json",
    "klob": {
        "templates": "klob.tsv",
        "u": {"words": "words.txt"},
        "r": {"source": "mquake", "mquake": "mquake.json"},
        "recall": {
            **{"filter": "on", "model": "known", "revision": "1", "dtype": "float32"},
            "demos": "demos.json",
        },
    },
    "models": ["model"],
    "methods": ["none", "mend", "rome", "rag", "mine.py:edit"],
    "rag": {"index": "dense", "encoder": "encoder"},
    "rome": {"layer": 1},
    "locators": ["locate.py:locate", "theirs"],
    "edit": {
        "dataset": "dataset.parquet",
        "ripples": "probes.parquet",
        "checkpoints": {"mend": "mend.pt"},
        "ability": {"text": "held.txt", "tasks": ["task.yaml"], "sample": 1},
    },
    "moments": {"corpus": ["corpus.txt"]},
}
TARGETS = ["results/manifest.json", "klob", "results/edit_scores.parquet", "results/locate_scores.parquet"]
TARGETS += ["results/ripple_scores.parquet"]


def replace(path: Path, text: str) -> None:
    """Puts another file in the place of one, of an earlier time, as `cp -p` does."""
    other = path.with_name("other")
    other.write_text(text, encoding="utf-8")
    os.utime(other, (1_600_000_000, 1_600_000_000))
    other.replace(path)


@pytest.mark.slow
def test_another_file_in_the_place_of_any_input_is_noticed(tmp_path):
    """The targets are files that only look made, with what Snakemake records of a run that made them."""
    config = CONFIG | {"dumps": write_dumps(tmp_path)}
    for model in ("known", "model", "encoder"):
        shutil.copytree(ROOT / "resources" / "models" / "sample-llama", tmp_path / model)
    for name in {*FILES.values(), *MONTHS, "theirs/scores.json"}:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        text = {"mine.py": MINE, "locate.py": MINE, "subjects.txt": "Q30\n"}.get(name, "{}")
        (tmp_path / name).write_text(text, encoding="utf-8")
    planned = snakemake(tmp_path, *TARGETS, "--dry-run", **config)
    for line in re.findall(r"^    output: (.*)", planned, re.MULTILINE):
        for name in line.split(", "):
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if not path.suffix:
                path.mkdir(exist_ok=True)
            elif path.suffix == ".parquet":
                pq.write_table(pa.table({}), path)  # the summary of the run says how many rows it has
            else:
                path.touch()
    snakemake(tmp_path, *TARGETS, "--touch", "--forceall", "--notemp", **config)

    def again() -> str:
        return snakemake(tmp_path, *TARGETS, "--dry-run", "--notemp", **config)

    assert "Nothing to be done" in again()
    unnoticed = []
    for key, name in {**FILES, **{f"dumps.{day}": path for day, path in config["dumps"].items()}}.items():
        path = tmp_path / name
        shutil.copy2(path, tmp_path / "kept")
        replace(path, "Q31\n" if key == "only.subjects" else f"{MINE}# other")
        if not re.search(rf"Params have changed.*{re.escape(path.name)}", again()):
            unnoticed.append(key)
        (tmp_path / "kept").replace(path)
    assert not unnoticed
    assert "Nothing to be done" in again()


@pytest.mark.slow
def test_no_account_names_another_dump_than_the_one_that_was_read(tmp_path, monkeypatch, capsys):
    """As where a file changes between two jobs of a run, which the plan of the run cannot know."""
    dumps = write_dumps(tmp_path)
    run_here(tmp_path, "results/manifest.json", dumps=dumps, slice=True)
    monkeypatch.chdir(tmp_path)
    pair, checksum = f"results/{OLD}_{NEW}", f"results/snapshots/{NEW}/checksum.json"
    given = [f"--{side}-dump={dumps[day]}" for side, day in (("old", OLD), ("new", NEW))]
    audit = ["audit", f"--pair={pair}", *given, "--settings", '{"rows": 5, "seed": 0}', "--output=audit"]
    assert main(audit) == 0
    manifest = json.loads(Path(pair, "manifest.json").read_text("utf-8"))
    read = Path(dumps[NEW]).read_bytes()
    Path(dumps[NEW]).write_bytes(read[:-1] + b"\0")
    assert main(["snapshots", "checksum", f"--dump={dumps[NEW]}", "--output", checksum]) == 0
    accounts = [f"results/snapshots/{day}/" for day in (OLD, NEW)]
    write = ["wikifactdiff", "manifest", f"--old-date={OLD}", f"--new-date={NEW}", "--output=again.json"]
    write += [f"--funnel={pair}/funnel.parquet", "--tables", f"{pair}/funnel.parquet", "--configuration={}"]
    for option, name in (("--dumps", "checksum"), ("--snapshots", "snapshot")):
        write += [option, *(f"{part}{name}.json" for part in accounts)]
    capsys.readouterr()
    for command in (audit, write):
        assert main(command) == 1
        assert f"{dumps[NEW]}: is another file than the one that was read" in capsys.readouterr().err
    Path(dumps[NEW]).write_bytes(read)
    assert main(["snapshots", "checksum", f"--dump={dumps[NEW]}", "--output", checksum]) == 0
    assert main(write) == 0
    assert json.loads(Path("again.json").read_text("utf-8"))["dumps"] == manifest["dumps"]
