"""What people who join meet: forms, checks of pull requests, hooks, and the folder of results."""

import subprocess
from pathlib import Path

import yaml
from support.workflow import ROOT


def test_pull_requests_are_checked_by_what_the_project_runs() -> None:
    jobs = yaml.safe_load((ROOT / ".github/workflows/tests.yml").read_text("utf-8"))["jobs"]
    assert [step["run"] for step in jobs["everything"]["steps"] if "run" in step] == [".ci/run"]
    assert jobs["everything"]["strategy"]["matrix"]["python"] == ["3.11", "3.13"]
    assert jobs["quick"]["runs-on"].startswith("macos")
    assert (ROOT / ".ci/run").stat().st_mode & 0o100


def test_forms_have_what_github_wants() -> None:
    forms = sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("[!c]*.yml"))
    assert forms
    for form in forms:
        found = yaml.safe_load(form.read_text("utf-8"))
        assert {"name", "description", "body"} <= found.keys(), form.name
        named = [field["id"] for field in found["body"]]
        assert len(named) == len(set(named)), form.name
        for field in found["body"]:
            assert field["type"] in ("input", "textarea", "dropdown", "checkboxes", "markdown"), form.name
            assert field["attributes"]["label"], form.name
        assert any(field.get("validations", {}).get("required") for field in found["body"]), form.name


def test_hooks_have_the_versions_of_the_tests() -> None:
    held = (ROOT / "envs/dev.txt").read_text("utf-8")
    for repo in yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text("utf-8"))["repos"]:
        name = repo["repo"].rpartition("/")[2].removesuffix("-pre-commit")
        assert f"\n{name}=={repo['rev'].removeprefix('v')} " in held


def test_clean_leaves_the_page_about_results(tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_bytes((ROOT / "Makefile").read_bytes())
    for name in ("results/a/b.parquet", "results/README.md", "results/.hidden", "logs/x", ".snakemake/x"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    subprocess.run(["make", "clean"], cwd=tmp_path, check=True, capture_output=True)
    left = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file())
    assert left == ["Makefile", "results/README.md"]
