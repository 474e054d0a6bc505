"""Signals to this process, and children of it."""

import contextlib
import os
import signal
import threading
import time
import warnings
from pathlib import Path

import pytest


def waits_for_a_cpu():
    """Return how many seconds each thread of this process was ready to run, but had no CPU."""
    waits = {}
    for path in Path("/proc/self/task").glob("*/schedstat"):
        with contextlib.suppress(OSError):  # a thread that has ended
            waits[path.parent.name] = int(path.read_text().split()[1]) / 1e9
    return waits


def seconds_to_stop(call, after):
    """Send this process SIGINT `after` seconds into the call; return how long it still ran.

    Other processes may keep the CPUs busy: the longest that one thread waited for a CPU meanwhile
    is taken off, which is next to nothing where there are enough of them.
    """
    sent = []

    def interrupt():
        is_calling.wait()
        time.sleep(after)
        before.update(waits_for_a_cpu())
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    def begin():
        is_calling.set()
        call()

    before = {}
    is_calling = threading.Event()
    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        begin()
    waited = time.perf_counter() - sent[0]
    late = [seconds - before.get(one, 0) for one, seconds in waits_for_a_cpu().items()]
    thread.join()
    return waited - max(late, default=0)


def in_child(check, seconds=20):
    """Run `check` in a forked child; it must return true within `seconds`."""
    with warnings.catch_warnings():  # Python 3.12 warns of fork beside threads: that is the test.
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid == 0:
        status = 1
        try:
            signal.alarm(seconds)  # a child that hangs dies of it
            status = 0 if check() else 2
        finally:
            os._exit(status)
    _, status = os.waitpid(pid, 0)
    assert os.WIFEXITED(status), f"the child died of signal {os.WTERMSIG(status)}"
    assert os.WEXITSTATUS(status) == 0
