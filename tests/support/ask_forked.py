"""Asks a server (support/forked.py) to do what a program would do, and ends as that has ended.

It stands for each job of a run, so it imports little, and Python starts it without installed packages.
"""

import json
import os
import socket
import sys
from collections.abc import Mapping


def ask(address: str, words: list[str], directory: str, env: Mapping[str, str], files: list[int]) -> int:
    """The exit status of a program with this command line; its output and errors go to `files`."""
    with socket.socket(socket.AF_UNIX) as server:
        server.connect(address)
        socket.send_fds(server, [b"\0"], files)
        asked = {"words": words, "directory": directory, "env": dict(env)}
        server.sendall(json.dumps(asked).encode())
        server.shutdown(socket.SHUT_WR)
        return int(server.recv(100))


if __name__ == "__main__":
    here = os.getcwd()  # noqa: PTH109 - pathlib takes as long to load as all the rest
    ended = ask(sys.argv[1], sys.argv[2:], here, os.environ, [1, 2])
    sys.exit(ended if ended >= 0 else 128 - ended)
