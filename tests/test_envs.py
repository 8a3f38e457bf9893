"""The lock files: hashed, without any address, what pyproject.toml asks for, and there for every platform."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from itertools import product
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[1]
TORCH = ROOT / "envs" / "torch.txt"  # the one file without hashes
LOCKS = sorted(set((ROOT / "envs").glob("*.txt")) - {TORCH})
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]
OPTIONAL = PROJECT["optional-dependencies"]


def pinned(lock):
    """Name -> versions of a lock file (several where they depend on the platform)."""
    found: dict[str, set[str]] = {}
    line = r"^([A-Za-z0-9._-]+)(?:\[[^\]]*\])?==([^\s;\\]+)"
    for name, version in re.findall(line, lock.read_text(), re.M):
        found.setdefault(normal(name), set()).add(version)
    return found


def normal(name):
    return name.lower().replace("_", "-")


def assert_holds(lock, wanted):
    """That a lock file has versions which each of these requirements allows."""
    versions = pinned(ROOT / "envs" / lock)
    for requirement in wanted:
        found = versions.get(normal(requirement.name))
        assert found, f"{requirement.name} is missing in envs/{lock}; run make lock"
        assert all(map(requirement.specifier.contains, found)), f"{requirement.name}: run make lock"


def test_locks_are_hashed_name_no_address_and_agree_with_each_other():
    first: dict[str, set[str]] = {}
    for lock in LOCKS:
        text = lock.read_text(encoding="utf-8")
        assert not re.search(r"https?://|file:|--(extra-)?index-url|--find-links", text), lock
        requirements = re.findall(r"^\S+==.*?(?=^\S|\Z)", text, re.M | re.S)
        assert requirements
        assert all("--hash=sha256:" in requirement for requirement in requirements), lock
        for name, versions in pinned(lock).items():
            assert first.setdefault(name, versions) == versions, f"{name} in {lock.name}; run make lock"
    # The right build of PyTorch differs by machine, and building datasets needs none.
    assert "torch" not in first
    assert re.fullmatch(r"torch==[\d.]+\n", TORCH.read_text(encoding="utf-8"))


def test_locks_hold_what_the_project_asks_for():
    assert_holds("setup.txt", map(Requirement, PYPROJECT["build-system"]["requires"]))
    assert_holds("data.txt", map(Requirement, PROJECT["dependencies"]))
    for part in ("cluster", "models", "docs"):
        assert_holds(f"{part}.txt", map(Requirement, PROJECT["dependencies"] + OPTIONAL[part]))
    assert_holds("dev.txt", (Requirement(text) for part in OPTIONAL.values() for text in part))


def test_planning_needs_no_package_of_models():
    """Rules ask each command for its record, also where `make models` has not been run."""
    program = (
        "import importlib, sys\n"
        "from factdrift.cli import COMMANDS, MODEL_PACKAGES\n"
        "sys.modules.update(dict.fromkeys(MODEL_PACKAGES))\n"
        "for place in {place for places, _ in COMMANDS.values() for place in places.split()}:\n"
        "    importlib.import_module(f'factdrift.{place}')\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_both_recipes_make_the_same_container_from_the_locks_alone():
    made = []
    for name, start in (("factdrift.def", "   "), ("Dockerfile", "COPY")):
        pattern = rf"^{start} (\S+) /opt/factdrift/(\S+)$"
        text = (ROOT / "envs" / name).read_text(encoding="utf-8")
        installs = [line.strip(" \\&") for line in text.splitlines() if "pip install" in line]
        bases = re.findall(r"^(?:FROM |From: )(\S+)$", text, re.M)
        made.append((bases, sorted(re.findall(pattern, text, re.M)), installs))
    assert made[0] == made[1]
    bases, copied, installs = made[0]
    assert len(bases) == 1
    assert all(source == target and (ROOT / source).exists() for source, target in copied)
    needed = {"envs/setup.txt", "envs/cluster.txt", "workflow"}
    needed |= {"resources", "config", "docs/tables", "CITATION.cff"}  # what setup.py puts into a wheel
    assert needed <= {source for source, _ in copied}
    assert len(installs) == 3
    for words in map(str.split, installs):
        assert ("--require-hashes" in words) or {"--no-deps", "--no-build-isolation"} <= set(words)


def test_hooks_have_the_versions_of_the_tests():
    held = (ROOT / "envs/dev.txt").read_text("utf-8")
    for repo in yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text("utf-8"))["repos"]:
        name = repo["repo"].rpartition("/")[2].removesuffix("-pre-commit")
        assert f"\n{name}=={repo['rev'].removeprefix('v')} " in held


PLATFORMS = {
    "Linux on x86-64": "x86_64-manylinux_2_28",
    "Linux on ARM": "aarch64-manylinux_2_28",
    "macOS on ARM": "aarch64-apple-darwin",
    "macOS on x86-64": "x86_64-apple-darwin",
}
VERSIONS = ("3.11", "3.12", "3.13", "3.14")
ENDS = (VERSIONS[0], VERSIONS[-1])
"""Packages end their wheels for the oldest version first, and have them for the newest one last."""
BUILT = {"connection-pool", "jsonpath-rw", "qwikidata", "rouge-score", "sqlitedict", "word2number"}
"""Pure Python packages without wheels, which the setuptools of envs/setup.txt builds anywhere."""

COMPILED = {"3.14": {"immutables"}}
"""Version of Python -> packages without a wheel for it, which need a C compiler (docs/design.md)."""


def resolve(platform: str, version: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Resolves an installation for a platform: wheels only, except for the packages without any."""
    uv = Path(sys.executable).with_name("uv")
    built = [f"--no-binary={name}" for name in sorted(BUILT | COMPILED.get(version, set()))]
    # A lock file is left in the target, though nothing is installed there.
    target = f"--target={Path(tempfile.gettempdir()) / 'nowhere'}"
    where = [f"--python-platform={PLATFORMS[platform]}", f"--python-version={version}", target]
    line = [uv, "pip", "install", "--dry-run", *where, "--only-binary=:all:", *built, *arguments]
    environment = {**os.environ, "MACOSX_DEPLOYMENT_TARGET": "14.0"}
    return subprocess.run(line, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def registry():
    if not Path(sys.executable).with_name("uv").exists() and shutil.which("uv") is None:
        pytest.skip("uv is not installed")
    asked = resolve("Linux on x86-64", "3.11", "--no-deps", "uv")
    if asked.returncode:
        pytest.skip(f"no package registry is reachable: {asked.stderr[-300:]}")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("platform", "version"),
    [*product(["Linux on x86-64"], VERSIONS), *product(list(PLATFORMS)[1:], ENDS)],
)
@pytest.mark.usefixtures("registry")
def test_the_locks_can_be_installed(platform, version):
    hashed = ("--require-hashes", "--build-constraints=envs/setup.txt")
    parts = ("setup", "data"), ("models", "dev")
    closed, others = ([f"--requirements=envs/{name}.txt" for name in names] for names in parts)
    for arguments in (closed, [*closed, *others, "--no-deps"]):
        done = resolve(platform, version, *hashed, *arguments)
        assert done.returncode == 0, done.stderr[-3000:]
    torch = resolve(platform, version, "--no-deps", "--requirements=envs/torch.txt")
    # PyTorch has no builds for Macs with Intel's processors any more.
    assert (torch.returncode == 0) == (platform != "macOS on x86-64"), torch.stderr[-3000:]


@pytest.mark.slow
@pytest.mark.parametrize("version", ENDS)
@pytest.mark.usefixtures("registry")
def test_the_locks_name_all_that_is_needed_but_pytorch_and_its_libraries(version):
    """They are installed without a look at dependencies, because that would ask for PyTorch's hash."""
    bare = [f"--requirements=envs/{name}.txt" for name in ("models", "dev", "torch")]
    done = resolve("Linux on x86-64", version, "--no-verify-hashes", *bare)
    assert done.returncode == 0, done.stderr[-3000:]
    needed = set(re.findall(r"^ \+ ([a-z0-9-]+)==", done.stderr, re.M))
    assert {"torch", "peft"} <= needed
    named = pinned(ROOT / "envs" / "dev.txt").keys()
    others = {name for name in needed - named if not re.match(r"torch$|triton$|nvidia-|cuda-", name)}
    assert not others, f"{others} in envs/dev.txt are missing; run make lock"
