"""A headless Chromium, driven over a pipe (Chrome DevTools Protocol), without any driver package."""

import base64
import contextlib
import itertools
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

NAMES = ("chromium", "chromium-browser", "google-chrome")


def program() -> str | None:
    """The path of the browser; None if none is installed."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """One page of a browser, with everything that it said and asked for."""

    def __init__(self, process: subprocess.Popen[bytes], orders: int, answers: int) -> None:
        self._process, self._orders, self._answers = process, orders, answers
        self._numbers = itertools.count(1)
        self._buffer = b""
        self._session: str | None = None
        self.said: list[str] = []
        """Errors and warnings of the console, and exceptions that nothing caught."""
        self.requests: list[str] = []
        """Addresses of all requests, without those of the `data:` scheme."""
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")

    @classmethod
    @contextlib.contextmanager
    def open(cls) -> Iterator[Self]:
        """A browser with a profile of its own, which ends with the block."""
        name = program()
        assert name is not None, f"install a browser: one of {', '.join(NAMES)}"
        with tempfile.TemporaryDirectory(prefix="factdrift-browser-", ignore_cleanup_errors=True) as profile:
            (child_in, orders), (answers, child_out) = os.pipe(), os.pipe()
            arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
            arguments += ["--no-first-run", "--disable-background-networking", "--disable-dev-shm-usage"]
            arguments += [f"--user-data-dir={profile}", "--remote-debugging-pipe", "about:blank"]
            # The browser reads orders from descriptor 3 and writes answers to 4.
            line = f'exec "$@" 3<&{child_in} 4>&{child_out}'
            process = subprocess.Popen(
                ["bash", "-c", line, "browser", name, *arguments],
                pass_fds=(child_in, child_out),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            os.close(child_in)
            os.close(child_out)
            try:
                yield cls(process, orders, answers)
            finally:
                os.close(orders)
                process.terminate()
                process.wait()
                os.close(answers)

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """The result of an order; what the page says meanwhile is kept."""
        number = next(self._numbers)
        order = {"id": number, "method": method, "params": parameters}
        if self._session:
            order["sessionId"] = self._session
        os.write(self._orders, json.dumps(order).encode() + b"\0")
        while True:
            message = self._message()
            if message.get("id") == number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']['message']}")
                return dict(message["result"])

    def _message(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            part = os.read(self._answers, 1 << 20)
            if not part:
                raise RuntimeError("the browser has ended")
            self._buffer += part
        text, _, self._buffer = self._buffer.partition(b"\0")
        message: dict[str, Any] = json.loads(text)
        given = message.get("params", {})
        match message.get("method"):
            case "Runtime.consoleAPICalled" if given["type"] in ("error", "warning", "assert"):
                self.said.append(" ".join(str(each.get("value", each)) for each in given["args"]))
            case "Runtime.exceptionThrown":
                self.said.append(str(given["exceptionDetails"]))
            case "Log.entryAdded" if given["entry"]["level"] in ("error", "warning"):
                self.said.append(given["entry"]["text"])
            case "Network.requestWillBeSent" if not given["request"]["url"].startswith("data:"):
                self.requests.append(given["request"]["url"])
        return message

    def size(
        self, width: int, height: int, dark: bool = False, scale: float = 1, media: str = "screen"
    ) -> None:
        """Width and height of the window in CSS pixels, the colour scheme that the reader prefers, and the
        medium (`screen` or `print`)."""
        self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=scale,
            mobile=width < 600,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.send("Emulation.setEmulatedMedia", media=media, features=[scheme])

    def visit(self, address: str | Path) -> None:
        """Opens a file or an address and waits until the page has loaded; a page may add its own `#...`."""
        url = address.resolve().as_uri() if isinstance(address, Path) else address
        self.send("Page.navigate", url=url)
        while not self.run("document.readyState + location.href").startswith(f"complete{url}"):
            pass

    def run(self, script: str) -> Any:
        """The value of an expression of JavaScript; promises are waited for."""
        done = self.send("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in done, done
        return done["result"].get("value")

    def key(self, name: str, code: int, text: str = "") -> None:
        """Presses a key, for example `Tab` (9) or `Enter` (13, text "\\r")."""
        for kind in ("keyDown", "keyUp"):
            shown = {"text": text} if text and kind == "keyDown" else {}
            self.send("Input.dispatchKeyEvent", type=kind, key=name, windowsVirtualKeyCode=code, **shown)

    def type(self, text: str) -> None:
        """Writes into the field that has the focus."""
        self.send("Input.insertText", text=text)

    def screenshot(self, path: Path, whole: bool = False, kind: str = "webp") -> None:
        """Writes what the window shows, or the whole page, as `webp` or `png`."""
        parameters: dict[str, Any] = {"format": kind, "captureBeyondViewport": whole}
        if kind == "webp":
            parameters["quality"] = 82
        path.write_bytes(base64.b64decode(self.send("Page.captureScreenshot", **parameters)["data"]))
