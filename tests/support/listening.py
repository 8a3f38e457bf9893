"""A server of the tests in a thread of its own, as long as a block runs."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from http.server import ThreadingHTTPServer


@contextlib.contextmanager
def in_thread(server: ThreadingHTTPServer, path: str = "") -> Iterator[str]:
    """Yields the address of the server, with `path` at its end."""
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}{path}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
