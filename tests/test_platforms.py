"""The package registry has what the lock files name, for every supported platform."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PLATFORMS = {
    "Linux on x86-64": "x86_64-manylinux_2_28",
    "Linux on ARM": "aarch64-manylinux_2_28",
    "macOS on ARM": "aarch64-apple-darwin",
    "macOS on x86-64": "x86_64-apple-darwin",
}
VERSIONS = ("3.11", "3.12", "3.13", "3.14")
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
    return subprocess.run(
        [uv, "pip", "install", "--dry-run", *where, "--only-binary=:all:", *built, *arguments],
        cwd=ROOT,
        env={**os.environ, "MACOSX_DEPLOYMENT_TARGET": "14.0"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def registry():
    if not Path(sys.executable).with_name("uv").exists() and shutil.which("uv") is None:
        pytest.skip("uv is not installed")
    asked = resolve("Linux on x86-64", "3.11", "--no-deps", "uv")
    if asked.returncode:
        pytest.skip(f"no package registry is reachable: {asked.stderr[-300:]}")


@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("platform", PLATFORMS)
@pytest.mark.usefixtures("registry")
def test_the_locks_can_be_installed(platform, version):
    hashed = ("--require-hashes", "--build-constraints=envs/setup.txt")
    closed, others = (
        [f"--requirements=envs/{name}.txt" for name in names]
        for names in (("setup", "data"), ("models", "dev"))
    )
    for arguments in (closed, [*closed, *others, "--no-deps"]):
        done = resolve(platform, version, *hashed, *arguments)
        assert done.returncode == 0, done.stderr[-3000:]
    torch = resolve(platform, version, "--no-deps", "--requirements=envs/torch.txt")
    # PyTorch has no builds for Macs with Intel's processors any more.
    assert (torch.returncode == 0) == (platform != "macOS on x86-64"), torch.stderr[-3000:]


@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.usefixtures("registry")
def test_the_locks_name_all_that_is_needed_but_pytorch_and_its_libraries(version):
    """They are installed without a look at dependencies, because that would ask for PyTorch's hash."""
    bare = [f"--requirements=envs/{name}.txt" for name in ("models", "dev", "torch")]
    done = resolve("Linux on x86-64", version, "--no-verify-hashes", *bare)
    assert done.returncode == 0, done.stderr[-3000:]
    needed = set(re.findall(r"^ \+ ([a-z0-9-]+)==", done.stderr, re.M))
    assert {"torch", "peft"} <= needed
    named = re.findall(r"^([a-z0-9-]+)==", (ROOT / "envs" / "dev.txt").read_text(encoding="utf-8"), re.M)
    others = {name for name in needed - {*named} if not re.match(r"torch$|triton$|nvidia-|cuda-", name)}
    assert not others, f"{others} in envs/dev.txt are missing; run make lock"


def test_platforms_are_documented():
    said = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
    assert all(f"`{name}`" in said for names in COMPILED.values() for name in names)
    assert "Python 3.11 to 3.14" in said
