"""A real Chromium, driven over a pipe, for tests of what a person sees and types."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from base64 import b64decode
from pathlib import Path
from typing import Any

PROGRAM = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
)
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)


class Chromium:
    """A browser with one page. `console` holds what the page complained about, `requests` what it asked for."""

    def __init__(self, profile: Path) -> None:
        assert PROGRAM is not None
        into, ours = os.pipe()
        theirs, out = os.pipe()
        # Chromium reads commands from descriptor 3 and answers on 4.
        script = f'exec "$0" "$@" 3<&{into} 4>&{out}'
        command = ["bash", "-c", script, PROGRAM, *FLAGS, f"--user-data-dir={profile}", "about:blank"]
        self._process = subprocess.Popen(
            command, pass_fds=(into, out), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        os.close(into)
        os.close(out)
        self._out, self._in = os.fdopen(ours, "wb", 0), os.fdopen(theirs, "rb", 0)
        self._rest = b""
        self._number = 0
        self._session = ""
        self.console: list[str] = []
        self.requests: list[str] = []
        targets = self.ask("Target.getTargets")["targetInfos"]
        target = next(one["targetId"] for one in targets if one["type"] == "page")
        self._session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")

    def __enter__(self) -> Chromium:
        return self

    def __exit__(self, *_: object) -> None:
        self._out.close()
        self._process.terminate()
        self._process.wait(30)
        self._in.close()

    def ask(self, method: str, **parameters: object) -> dict[str, Any]:
        """Send a command and wait for its answer; events are read on the way."""
        self._number += 1
        message: dict[str, object] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        self._out.write(json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                return answer["result"]
            self._note(answer)

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            data = self._in.read(65536)
            assert data, "the browser has gone"
            self._rest += data
        line, _, self._rest = self._rest.partition(b"\0")
        return json.loads(line)

    def _note(self, event: dict[str, Any]) -> None:
        what, about = event.get("method"), event.get("params", {})
        if what == "Runtime.exceptionThrown":
            self.console.append(json.dumps(about["exceptionDetails"]))
        elif what == "Log.entryAdded":
            self.console.append(about["entry"]["text"])
        elif what == "Runtime.consoleAPICalled":
            self.console.append(json.dumps(about["args"]))
        elif what == "Network.requestWillBeSent":
            self.requests.append(about["request"]["url"])

    def open(self, url: str) -> None:
        self.ask("Page.navigate", url=url)
        while self.run("document.readyState") != "complete":
            pass

    def run(self, expression: str) -> Any:
        """The value of an expression of JavaScript, in the page."""
        answer = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def size(self, width: int, height: int) -> None:
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def media(self, scheme: str = "light", kind: str = "") -> None:
        """Let the page believe in a light or dark scheme, and in a screen or a printer."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.ask("Emulation.setEmulatedMedia", media=kind, features=features)

    def script(self, on: bool) -> None:
        self.ask("Emulation.setScriptExecutionDisabled", value=not on)

    def press(self, key: str, code: int = 0) -> None:
        """Press a key as a keyboard does; `code` is its Windows code, for keys that do more than write."""
        text = {"text": {"Enter": "\r"}.get(key, key)} if len(key) == 1 or key == "Enter" else {}
        more = {"windowsVirtualKeyCode": code} if code else {}
        self.ask("Input.dispatchKeyEvent", type="keyDown", key=key, **text, **more)
        self.ask("Input.dispatchKeyEvent", type="keyUp", key=key, **more)

    def picture(self) -> bytes:
        return b64decode(self.ask("Page.captureScreenshot", format="png")["data"])

    def pdf(self) -> bytes:
        return b64decode(self.ask("Page.printToPDF", printBackground=True, landscape=True)["data"])
