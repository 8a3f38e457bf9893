"""Functions of users, and the code beside them that they import."""

from pathlib import Path

from factdrift.core.functions import code_digest, code_files


def _write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


def _names(root: Path, files: list[Path]) -> list[str]:
    return [path.relative_to(root).as_posix() for path in files]


def test_modules_beside_a_function_count_directly_or_not(tmp_path: Path) -> None:
    _write(
        tmp_path,
        {
            "mine.py": "import json, torch\nimport helper\ndef edit():\n    from parts.inner import maths\n",
            "helper.py": "import deeper\nimport mine\n",
            "deeper.py": "broken = = code\n",
            "parts/inner/__init__.py": "from . import more\nfrom ..shared import value\n",
            **dict.fromkeys(("parts/inner/maths.py", "parts/inner/more.py", "parts/shared.py"), ""),
            **dict.fromkeys(("parts/__init__.py", "parts/unused.py", "unused.py"), ""),
        },
    )
    found = code_files(tmp_path / "mine.py")
    assert _names(tmp_path, found) == [
        *("mine.py", "deeper.py", "helper.py", "parts/__init__.py", "parts/inner/__init__.py"),
        *("parts/inner/maths.py", "parts/inner/more.py", "parts/shared.py"),
    ]
    before = code_digest(found)
    (tmp_path / "unused.py").write_text("changed = 1\n", encoding="utf-8")
    assert code_digest(code_files(tmp_path / "mine.py")) == before
    (tmp_path / "parts/inner/more.py").write_text("changed = 1\n", encoding="utf-8")
    assert code_digest(code_files(tmp_path / "mine.py")) != before


def test_of_an_installed_package_only_its_own_modules_count(tmp_path: Path) -> None:
    _write(
        tmp_path,
        {
            "own/sub/method.py": "from own import base\nfrom .near import x\nimport numpy\n",
            **dict.fromkeys(("own/__init__.py", "own/sub/__init__.py", "own/sub/near.py", "own/base.py"), ""),
            **{"numpy/__init__.py": "", "alone.py": "import numpy\n"},
        },
    )
    found = code_files(tmp_path / "own/sub/method.py", "own.sub.method")
    assert _names(tmp_path, found) == [
        *("own/sub/method.py", "own/__init__.py", "own/base.py", "own/sub/__init__.py", "own/sub/near.py"),
    ]
    assert code_files(tmp_path / "alone.py", "alone") == [tmp_path / "alone.py"]
