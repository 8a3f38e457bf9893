"""`make clean` removes what the workflow has made and can make again, and nothing else."""

import os
from pathlib import Path

import pytest
from support.odd_dumps import NEW, OLD, write_dumps
from support.workflow import snakemake

from factdrift.cli import main
from factdrift.core.owned import claim

PAIR = f"results/{OLD}_{NEW}"
STRANGERS = (
    *("results/README.md", "results/thesis.txt", "results/photos/p.jpg", "logs/mine.log", ".hidden"),
    *(f"{PAIR}/notes.txt", f"{PAIR}/neighbors/space/notes.txt", f"results/snapshots/{NEW}/mine.parquet"),
    f"results/snapshots/{NEW}/snapshot.json",  # in the place of what was made
)
FROM_ELSEWHERE = (
    *("results/releases/2023-02-27/release.json", "results/fetched/chat/answers.sqlite"),
    "results/recent/a/config.yaml",
    *("results/2020-01-06_2021-01-04/.refresh.json", "results/2020-01-06_2021-01-04/wikifactdiff.parquet"),
)


def files(folder: Path) -> set[str]:
    """All files but Snakemake's own, through a link named `results`."""
    found = {Path(above, name) for above, _, names in os.walk(folder, followlinks=True) for name in names}
    return {path.relative_to(folder).as_posix() for path in found if ".snakemake" not in path.parts}


@pytest.mark.slow
@pytest.mark.parametrize("linked", [False, True])
def test_what_others_have_put_there_and_what_cannot_be_had_again_stays(linked, tmp_path, monkeypatch, capsys):
    here = tmp_path / "here"
    here.mkdir()
    if linked:
        (tmp_path / "disk").mkdir()
        (here / "results").symlink_to(tmp_path / "disk")
    dumps = write_dumps(here)
    snakemake(here, f"{PAIR}/neighbors/space", dumps=dumps, slice=True)
    made = files(here)
    assert len(made) > 40
    monkeypatch.chdir(here)
    for name in (*STRANGERS, *FROM_ELSEWHERE):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text("a stranger's")
    claim(Path("results/compare"), ["compare.txt"])
    Path("results/compare/compare.txt").write_text("ours")
    assert main(["clean"]) == 0
    said = capsys.readouterr().out
    assert files(here) == {*STRANGERS, *FROM_ELSEWHERE, *dumps.values()}
    for name in ("results/releases", "results/fetched", "results/2020-01-06_2021-01-04"):
        assert f"{name} stays" in said
    assert not Path("results/compare").exists()
    assert Path("results").is_symlink() == linked
    assert main(["clean"]) == 0
    assert capsys.readouterr().out.startswith("0 files removed")
