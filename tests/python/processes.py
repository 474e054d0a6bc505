"""Signals to this process, and children of it."""

import os
import signal
import threading
import time
import warnings

import pytest


def seconds_to_stop(call, after):
    """Send this process SIGINT `after` seconds into the call; return how long it still ran."""
    sent = []

    def interrupt():
        time.sleep(after)
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        call()
    waited = time.perf_counter() - sent[0]
    thread.join()
    return waited


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
