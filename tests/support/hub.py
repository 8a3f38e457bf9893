"""A stand-in for the hub on loopback: one data set, as `datasets` and `huggingface_hub` ask for it."""

import contextlib
import hashlib
import json
from collections.abc import Iterator
from http.server import ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote

from support.listening import Handler, in_thread

COMMIT = "0" * 40


@contextlib.contextmanager
def serving(folder: Path, name: str) -> Iterator[str]:
    """The address of a hub that has the folder as the data set `name`."""

    class Hub(Handler):
        protocol_version = "HTTP/1.1"

        def answer(self, body: bytes, **more: str) -> None:
            self.head(200, {"Content-Length": len(body)} | {key.replace("_", "-"): more[key] for key in more})
            if self.command == "GET":
                self.wfile.write(body)

        def do_GET(self) -> None:
            path = unquote(self.path.partition("?")[0])
            kind, _, below = path.rpartition(f"/datasets/{name}/")[2].partition("/")
            file = folder / below.partition("/")[2]
            if kind == "resolve" and file.is_file():
                content = file.read_bytes()
                digest = hashlib.sha256(content).hexdigest()
                self.answer(content, ETag=f'"{digest}"', X_Repo_Commit=COMMIT)
            elif kind == "tree" and file.is_dir():
                listed = [
                    {"type": "directory" if each.is_dir() else "file", "size": each.stat().st_size}
                    | {"path": each.relative_to(folder).as_posix(), "oid": COMMIT}
                    for each in sorted(file.iterdir())
                ]
                self.answer(json.dumps(listed).encode())
            elif kind == "revision":
                self.answer(json.dumps({"id": name, "sha": COMMIT, "siblings": []}).encode())
            else:
                self.head(404, {"X-Error-Code": "EntryNotFound", "Content-Length": 0})

        do_HEAD = do_GET

    with in_thread(ThreadingHTTPServer(("127.0.0.1", 0), Hub)) as address:
        yield address
