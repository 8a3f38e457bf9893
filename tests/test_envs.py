"""The lock files: hashed, without any address, and what pyproject.toml asks for."""

import importlib.metadata
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[1]
TORCH = ROOT / "envs" / "torch.txt"  # the one file without hashes: the right build differs by machine
LOCKS = sorted(set((ROOT / "envs").glob("*.txt")) - {TORCH})
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]


def pinned(lock):
    """Name -> versions of a lock file (several where they depend on the platform)."""
    found: dict[str, set[str]] = {}
    for name, version in re.findall(
        r"^([A-Za-z0-9._-]+)(?:\[[^\]]*\])?==([^\s;\\]+)", lock.read_text(), re.M
    ):
        found.setdefault(name.lower().replace("_", "-"), set()).add(version)
    return found


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_locks_are_hashed_and_name_no_address(lock):
    text = lock.read_text(encoding="utf-8")
    assert not re.search(r"https?://|file:|--(extra-)?index-url|--find-links", text)
    requirements = re.findall(r"^\S+==.*?(?=^\S|\Z)", text, re.M | re.S)
    assert requirements
    assert all("--hash=sha256:" in requirement for requirement in requirements)


@pytest.mark.parametrize(
    ("lock", "wanted"),
    [
        ("setup.txt", PYPROJECT["build-system"]["requires"]),
        ("data.txt", PROJECT["dependencies"]),
        ("cluster.txt", PROJECT["dependencies"] + PROJECT["optional-dependencies"]["cluster"]),
        ("models.txt", PROJECT["dependencies"] + PROJECT["optional-dependencies"]["models"]),
        ("docs.txt", PROJECT["dependencies"] + PROJECT["optional-dependencies"]["docs"]),
        ("dev.txt", [text for part in PROJECT["optional-dependencies"].values() for text in part]),
    ],
)
def test_locks_hold_what_the_project_asks_for(lock, wanted):
    versions = pinned(ROOT / "envs" / lock)
    for text in wanted:
        requirement = Requirement(text)
        name = requirement.name.lower().replace("_", "-")
        assert versions.get(name), f"{name} is missing in envs/{lock}; run make lock"
        assert all(requirement.specifier.contains(v) for v in versions[name]), f"{name}: run make lock"


def test_torch_is_pinned_apart_and_building_datasets_needs_none():
    assert re.fullmatch(r"torch==[\d.]+\n", TORCH.read_text(encoding="utf-8"))
    assert not any("torch" in pinned(lock) for lock in LOCKS)


def test_planning_needs_no_package_of_models():
    """Rules ask each command for its record, also where `make models` has not been run."""
    program = (
        "import importlib, sys\n"
        "from factdrift.cli import COMMANDS, MODEL_PACKAGES\n"
        "sys.modules.update(dict.fromkeys(MODEL_PACKAGES))\n"
        "for place in {place for place, _ in COMMANDS.values()}:\n"
        "    importlib.import_module(f'factdrift.{place}')\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_what_pytorch_needs_is_pinned_with_hashes():
    """All but the libraries for one kind of GPU, whose versions its build names exactly."""
    pytest.importorskip("torch", reason="language models are installed with `make models`")
    versions = pinned(ROOT / "envs" / "models.txt")
    needed = [Requirement(text) for text in importlib.metadata.requires("torch") or []]
    general = [
        each
        for each in needed
        if (each.marker is None or each.marker.evaluate({"extra": ""}))
        and not re.match(r"nvidia-|cuda-|triton|pytorch-triton", each.name)
    ]
    assert len(general) >= 5
    for each in general:
        found = versions.get(each.name.lower().replace("_", "-"))
        assert found, f"{each.name} is missing in envs/models.txt; run make lock"
        assert all(each.specifier.contains(version) for version in found)


def test_locks_agree_with_each_other():
    first: dict[str, set[str]] = {}
    for lock in ("setup.txt", "data.txt", "cluster.txt", "models.txt", "docs.txt", "dev.txt"):
        for name, versions in pinned(ROOT / "envs" / lock).items():
            assert first.setdefault(name, versions) == versions, f"{name} in {lock}; run make lock"


RECIPES = {
    "factdrift.def": r"^    (\S+) /opt/factdrift/(\S+)$",
    "Dockerfile": r"^COPY (\S+) /opt/factdrift/(\S+)$",
}


@pytest.mark.parametrize("name", RECIPES)
def test_the_container_is_built_from_the_locks_alone(name: str):
    recipe = (ROOT / "envs" / name).read_text(encoding="utf-8")
    copied = re.findall(RECIPES[name], recipe, re.M)
    assert all(source == target and (ROOT / source).exists() for source, target in copied)
    assert {"envs/setup.txt", "envs/cluster.txt", "resources", "config", "workflow"} <= {
        one for one, _ in copied
    }
    installs = [line.split() for line in recipe.splitlines() if "pip install" in line]
    assert len(installs) == 3
    for words in installs:
        assert ("--require-hashes" in words) or {"--no-deps", "--no-build-isolation"} <= set(words)


def test_both_recipes_make_the_same_container():
    made = []
    for name, pattern in RECIPES.items():
        text = (ROOT / "envs" / name).read_text(encoding="utf-8")
        installs = [line.strip(" \\&") for line in text.splitlines() if "pip install" in line]
        base = re.findall(r"^(?:FROM |From: )(\S+)$", text, re.M)
        made.append((base, sorted(re.findall(pattern, text, re.M)), installs))
    assert made[0] == made[1]
    assert len(made[0][0]) == 1


def test_every_dependency_has_its_reason():
    reasons = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
    for text in PROJECT["dependencies"] + PROJECT["optional-dependencies"]["cluster"]:
        assert Requirement(text).name in reasons, f"{text} has no line in docs/design.md"
