"""A family in a process of its own, so that a crash or a hang is a finding and not the end.

Cases go in and verdicts come out as lines of JSON, over two pipes: what the library prints by
itself cannot be taken for them. ``python worker.py <family> <in> <out>`` is the child's side.
"""

from __future__ import annotations

import contextlib
import faulthandler
import json
import os
import re
import resource
import select
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import families

MEMORY = 6 << 30  # bytes of address space: a call that asks for the moon is to be refused
START_SECONDS = 60.0


@dataclass(frozen=True)
class Verdict:
    """What became of a case: the family's word for it, or a defect with all that was said.

    `kind` is what defects have in common that come from one fault: kind of error and place.
    """

    word: str
    kind: str = ""
    text: str = ""

    @property
    def is_defect(self) -> bool:
        return self.word == "defect"


# ---- The parent's side


class Worker:
    """A child process that checks the cases of one family."""

    def __init__(self, name: str, environment: dict[str, str] | None = None) -> None:
        self.name = name
        self.environment = environment or {}
        self._said = tempfile.TemporaryFile()  # noqa: SIM115  # open as long as the worker
        self._start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.close()

    def _start(self) -> None:
        child_in, self._in = os.pipe()
        self._out, child_out = os.pipe()
        self._child = subprocess.Popen(
            [sys.executable, str(families.HERE / "worker.py"), self.name, str(child_in),
             str(child_out)],
            pass_fds=(child_in, child_out), env={**os.environ, **self.environment},
            stdin=subprocess.DEVNULL, stdout=self._said, stderr=self._said,
            start_new_session=True,
        )  # fmt: skip
        os.close(child_in)
        os.close(child_out)
        self._buffer = b""
        self._is_loading = True

    def start(self) -> None:
        """Wait until the child has loaded what it needs."""
        if self._is_loading:
            self._line(time.monotonic() + START_SECONDS)
            self._is_loading = False

    def close(self) -> None:
        self._end()
        self._said.close()

    def _end(self) -> None:
        """End the child, and what it may have started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._child.pid, signal.SIGKILL)
        self._child.wait()
        os.close(self._in)
        os.close(self._out)

    def ask(self, case: families.Case, seconds: float) -> Verdict:
        """Have a case checked; a child that dies or hangs is replaced by a new one."""
        self.start()
        self._said.seek(0)
        self._said.truncate()
        try:
            os.write(self._in, json.dumps(case).encode() + b"\n")
            line = self._line(time.monotonic() + seconds)
        except BrokenPipeError:
            line = b""
        if line:
            return Verdict(**json.loads(line))
        is_alive = line is None
        if is_alive:  # let it say where it is
            self._child.send_signal(signal.SIGABRT)
        try:
            status = self._child.wait(10)
        except subprocess.TimeoutExpired:
            status = -signal.SIGKILL
        self._said.seek(0)
        said = self._said.read()[-6000:].decode(errors="replace")
        self._end()
        self._start()
        if is_alive:
            return Verdict("defect", "hangs", f"no answer after {seconds:g} s\n{said}")
        return Verdict("defect", f"dies: {_name_of(status)}", said)

    def _line(self, deadline: float) -> bytes | None:
        """Return the next line; nothing where the child is gone, None where time is up."""
        poll = select.poll()
        poll.register(self._out, select.POLLIN)
        while b"\n" not in self._buffer:
            if not poll.poll(max(0.0, 1e3 * (deadline - time.monotonic()))):
                return None
            part = os.read(self._out, 1 << 16)
            if not part:
                return b""
            self._buffer += part
        line, self._buffer = self._buffer.split(b"\n", 1)
        return line


def _name_of(status: int) -> str:
    return signal.Signals(-status).name if status < 0 else f"exit status {status}"


# ---- The child's side


def verdict_of(name: str, case: families.Case) -> Verdict:
    """Check a case in this process."""
    try:
        return Verdict(str(families.family(name).check(case)))
    except BaseException as error:  # a KeyboardInterrupt out of place is a defect as well
        text = "".join(traceback.format_exception(error)[-12:])
        return Verdict("defect", _kind_of(error), text)


def _kind_of(error: BaseException) -> str:
    """Return what tells one fault from another: the error, the last place here and in kcore."""
    places = {}
    for frame in traceback.extract_tb(error.__traceback__):
        folder = Path(frame.filename).parent.name
        if folder in ("attack", "kcore"):
            places[folder] = f"{Path(frame.filename).stem}.{frame.name}:{frame.lineno}"
    first = re.sub(r"[-+]?\d[\d.e+-]*|0x\w+", "#", str(error).split("\n")[0])
    return " ".join([type(error).__name__, *places.values(), first[:60]])


def serve(name: str, fd_in: int, fd_out: int) -> None:
    """Answer the parent until it closes its end."""
    faulthandler.enable()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    families.family(name)
    with open(fd_in, "rb") as cases, open(fd_out, "wb", buffering=0) as verdicts:
        verdicts.write(b"ready\n")
        for line in cases:
            answer: dict[str, Any] = vars(verdict_of(name, json.loads(line)))
            verdicts.write(json.dumps(answer).encode() + b"\n")


if __name__ == "__main__":
    serve(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
