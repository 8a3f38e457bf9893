"""Files that are whole but no lines of JSON: the message names their form, and calls none of them damaged."""

import bz2
import gzip
import io
import json
import lzma
import shutil
import subprocess
import tarfile
import zipfile
from pathlib import Path

import pytest
from support.dumps import lines

from factdrift.core.errors import DamagedDump, InputError

ENTITIES = [{"type": "item", "id": f"Q{number}", "labels": {}, "claims": {}} for number in range(1, 9)]
LINES = "".join(json.dumps(entity) + "\n" for entity in ENTITIES)
TEXT = "[\n" + LINES.strip().replace("\n", ",\n") + "\n]\n"


def tar() -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("dump.json"), io.BytesIO())
    return file.getvalue()


def zipped() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("dump.json", TEXT)
    return file.getvalue()


XZ = lzma.compress(b"x")
FORMS = {
    "several entities on a line": [json.dumps(ENTITIES), json.dumps(ENTITIES, separators=(",", ":"))],
    "line ends inside": [json.dumps(ENTITIES, indent=1), json.dumps(ENTITIES[0], indent=2)],
    "UTF-16": [TEXT.encode(code) for code in ("utf-16", "utf-16-le", "utf-16-be", "utf-32")],
    "archive in an archive": [gzip.compress(pack(TEXT.encode())) for pack in (gzip.compress, bz2.compress)],
    "xz or lzma": [XZ, lzma.compress(b"x", lzma.FORMAT_ALONE), gzip.compress(XZ)],
    "zip archive": [zipped()],
    "tar archive": [tar(), gzip.compress(tar())],
    "lz4": [b"\x04\x22\x4d\x18 and so on", b"\x02\x21\x4c\x18 and so on"],
    "page of HTML": ["<!DOCTYPE html><html>", "\n<html><body>404"],
    "XML": ["<?xml version='1.0'?>", "<mediawiki xmlns="],
    "RDF": ["<http://www.wikidata.org/entity/Q1> <http://a> <http://b> .", "@prefix wd: <http://a> ."],
    "answer of the API": [json.dumps({"entities": {"Q1": ENTITIES[0]}})],
}


@pytest.mark.parametrize(("form", "data"), [(form, each) for form, datas in FORMS.items() for each in datas])
def test_another_form_is_named(tmp_path: Path, form: str, data: str | bytes) -> None:
    path = tmp_path / "dump"
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    with pytest.raises(InputError, match=form) as caught:
        list(lines(path))
    assert not isinstance(caught.value, DamagedDump)


@pytest.mark.parametrize(
    "text", [TEXT, LINES, "\ufeff" + TEXT, f"[{json.dumps(ENTITIES[0])}]", TEXT.replace("\n", "\r\n")]
)
def test_other_ways_to_write_lines_are_read(tmp_path: Path, text: str) -> None:
    path = tmp_path / "dump"
    path.write_text(text, encoding="utf-8", newline="")
    assert [json.loads(line)["id"] for _, _, line in lines(path)][:1] == ["Q1"]


needs_zstd = pytest.mark.skipif(shutil.which("zstd") is None, reason="needs the program zstd")


@needs_zstd
@pytest.mark.parametrize(("window", "readable"), [(27, True), (28, False), (31, False)])
def test_a_long_window_of_zstandard_is_no_damage(tmp_path: Path, window: int, readable: bool) -> None:
    path = tmp_path / "dump.json.zst"
    # A frame from a pipe has no size, so its header names the window.
    command = ["zstd", "-q", f"--long={window}", "-c"]
    path.write_bytes(subprocess.run(command, input=TEXT.encode(), capture_output=True, check=True).stdout)
    if readable:
        assert len(list(lines(path))) == len(ENTITIES)
        return
    with pytest.raises(InputError, match=r"window of [\d,]+ bytes.*not damaged.*zstd -dc --lon") as caught:
        list(lines(path))
    assert not isinstance(caught.value, DamagedDump)


@needs_zstd
def test_a_dictionary_of_zstandard_is_no_damage(tmp_path: Path) -> None:
    samples = []
    for number in range(2000):
        samples.append(tmp_path / f"{number}.json")
        entity = {**ENTITIES[0], "id": f"Q{number}", "text": "word " * (number % 50)}
        samples[-1].write_text(json.dumps(entity))
    dictionary, path = tmp_path / "dictionary", tmp_path / "dump"
    subprocess.run(["zstd", "-q", "--train", *samples, "-o", dictionary], check=True, capture_output=True)
    command = ["zstd", "-q", "-D", dictionary, "-c"]
    path.write_bytes(subprocess.run(command, input=TEXT.encode(), capture_output=True, check=True).stdout)
    with pytest.raises(InputError, match="compressed with a Zstandard dictionary") as caught:
        list(lines(path))
    assert not isinstance(caught.value, DamagedDump)
