"""A headless Chromium, driven through its DevTools protocol over a pair of pipes.

No package is needed for that: messages are JSON, ended by a NUL, on the browser's descriptors 3
and 4. https://chromedevtools.github.io/devtools-protocol/
"""

from __future__ import annotations

import base64
import contextlib
import fcntl
import json
import os
import select
import shutil
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
_PATIENCE = 60.0
_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-extensions",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
    "--hide-scrollbars",
    "--force-color-profile=srgb",
    "--remote-debugging-pipe",
)


def find_chromium() -> str | None:
    """The browser of this machine, None where there is none."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """One process of the browser."""

    def __init__(self, pid: int, writes: int, reads: int) -> None:
        self._pid, self._writes, self._reads = pid, writes, reads
        self._left = b""
        self._number = 0
        self.events: list[dict[str, Any]] = []

    def call(self, method: str, session: str | None = None, **params: Any) -> dict[str, Any]:
        """Say something, and wait for its answer; what happens meanwhile is kept."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if session is not None:
            message["sessionId"] = session
        os.write(self._writes, json.dumps(message).encode() + b"\0")
        while (answer := self._read()).get("id") != self._number:
            self.events.append(answer)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']['message']}")
        result: dict[str, Any] = answer["result"]
        return result

    def wait(self, method: str, session: str) -> dict[str, Any]:
        """The next event of a kind, or the first that came before."""
        while True:
            for at, event in enumerate(self.events):
                if event.get("method") == method and event.get("sessionId") == session:
                    return self.events.pop(at)
            self.events.append(self._read())

    def _read(self) -> dict[str, Any]:
        end = time.monotonic() + _PATIENCE
        while b"\0" not in self._left:
            ready, _, _ = select.select([self._reads], [], [], max(0.0, end - time.monotonic()))
            piece = os.read(self._reads, 1 << 16) if ready else b""
            if not piece:
                raise RuntimeError("the browser is silent" if not ready else "the browser is gone")
            self._left += piece
        text, _, self._left = self._left.partition(b"\0")
        message: dict[str, Any] = json.loads(text)
        return message

    def page(self) -> Page:
        """A new tab."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        return Page(self, attached["sessionId"])

    def close(self) -> None:
        """End the process."""
        with contextlib.suppress(RuntimeError, OSError):
            self.call("Browser.close")
        for descriptor in (self._writes, self._reads):
            with contextlib.suppress(OSError):
                os.close(descriptor)
        for _ in range(100):
            if os.waitpid(self._pid, os.WNOHANG)[0]:
                return
            time.sleep(0.05)
        os.kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)


class Page:
    """A tab: what is in it, and what went wrong there."""

    def __init__(self, browser: Browser, session: str) -> None:
        self._browser, self._session = browser, session
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        return self._browser.call(method, self._session, **params)

    def look(self, *, width: int = 1280, height: int = 900, dark: bool = False) -> None:
        """The screen, and the theme of the system; nothing moves."""
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.call("Emulation.setDeviceMetricsOverride", **metrics)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        still = {"name": "prefers-reduced-motion", "value": "reduce"}
        self.call("Emulation.setEmulatedMedia", features=[scheme, still])

    def open(self, address: str) -> None:
        """Load a page to its end."""
        self.call("Page.navigate", url="about:blank")
        self._browser.wait("Page.loadEventFired", self._session)
        self._browser.events.clear()
        self.call("Page.navigate", url=address)
        self._browser.wait("Page.loadEventFired", self._session)

    def run(self, text: str) -> Any:
        """The value of an expression, a promise's too."""
        done = self.call("Runtime.evaluate", expression=text, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in done:
            raise RuntimeError(json.dumps(done["exceptionDetails"])[:500])
        return done["result"].get("value")

    def until(self, text: str) -> Any:
        """The value of an expression once it is true."""
        end = time.monotonic() + _PATIENCE
        while not (value := self.run(text)):
            if time.monotonic() > end:
                raise RuntimeError(f"never true: {text}")
            time.sleep(0.02)
        return value

    def click(self, selector: str) -> None:
        """A real click in the middle of the first element."""
        found = json.dumps(selector)
        self.run(f"document.querySelector({found}).scrollIntoView({{block: 'center'}})")
        x, y = self.run(
            f"(() => {{ const r = document.querySelector({found}).getBoundingClientRect();"
            " return [r.x + r.width / 2, r.y + r.height / 2]; })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def press(self, key: str, code: int) -> None:
        """One key, by its name and its number on Windows."""
        for kind in ("rawKeyDown", "keyUp"):
            self.call(
                "Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code
            )

    def write(self, text: str) -> None:
        """Text into what has the focus."""
        self.call("Input.insertText", text=text)

    @property
    def faults(self) -> list[str]:
        """Errors and warnings of the console since the page was opened."""
        self.run("0")
        found = []
        for event in self._browser.events:
            params = event.get("params", {})
            if event["method"] == "Runtime.exceptionThrown":
                found.append(params["exceptionDetails"]["text"])
            elif event["method"] == "Runtime.consoleAPICalled" and params["type"] == "error":
                found.append(json.dumps(params["args"]))
            elif event["method"] == "Log.entryAdded" and params["entry"]["level"] == "error":
                found.append(params["entry"]["text"])
        return found

    @property
    def requests(self) -> list[str]:
        """What was asked for since the page was opened."""
        self.run("0")
        return [
            event["params"]["request"]["url"]
            for event in self._browser.events
            if event["method"] == "Network.requestWillBeSent"
        ]

    def screenshot(self, path: Path, *, whole: bool = False) -> None:
        """A picture of the page as a PNG."""
        data = self.call("Page.captureScreenshot", captureBeyondViewport=whole)["data"]
        path.write_bytes(base64.b64decode(data))


@contextmanager
def browsing(program: str, home: Path) -> Iterator[Browser]:
    """A browser with a profile of its own below ``home``."""
    theirs_in, ours_out = _pipe()
    ours_in, theirs_out = _pipe()
    null = os.open(os.devnull, os.O_RDWR)
    pid = os.posix_spawn(
        program,
        [program, *_FLAGS, f"--user-data-dir={home / 'profile'}"],
        {**os.environ, "HOME": str(home)},
        file_actions=[
            (os.POSIX_SPAWN_DUP2, null, 0),
            (os.POSIX_SPAWN_DUP2, null, 1),
            (os.POSIX_SPAWN_DUP2, null, 2),
            (os.POSIX_SPAWN_DUP2, theirs_in, 3),
            (os.POSIX_SPAWN_DUP2, theirs_out, 4),
        ],
    )
    for descriptor in (theirs_in, theirs_out, null):
        os.close(descriptor)
    browser = Browser(pid, ours_out, ours_in)
    try:
        yield browser
    finally:
        browser.close()


def _pipe() -> tuple[int, int]:
    """A pipe whose ends lie above the numbers that the browser wants."""
    ends = os.pipe()
    high = tuple(fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in ends)
    for end in ends:
        os.close(end)
    return high[0], high[1]
