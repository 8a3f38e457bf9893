"""What the servers of the tests share: a thread of their own, as long as a block runs, and no log."""

import contextlib
import threading
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


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


class Handler(BaseHTTPRequestHandler):
    def head(self, status: int, headers: Mapping[str, object]) -> None:
        """Sends what comes before the body."""
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, str(value))
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Prints nothing."""
