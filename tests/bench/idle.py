"""What a narthex costs that has nothing to do: memory of all its processes and processor time."""

from __future__ import annotations

import threading

from tests.bench.rows import Aim, Row
from tests.bench.share import Share
from tests.bench.subject import Subject
from tests.waiting import until

_PAGE = b"<html><head><title>Seeds</title></head><body><article><p>%s</p></article></body></html>"


def measure(share: Share) -> list[Row]:
    """Reads one page, so that a child has been there, then rests; the child is gone after a minute without work."""
    subject = Subject(share.folder("idle") / "home")
    try:
        subject.start()
        subject.stop()  # the first start migrates, and keeps in memory what no later one loads
        subject.start()
        bearer = subject.owner()
        client = subject.client(bearer)
        connection = subject.connect()
        page = _PAGE % (b"Seeds keep longest when they are cold and dry. " * 40)
        item = subject.post_file(connection, bearer, "seeds.html", page)
        connection.close()
        until(lambda: client.call("GET", f"/v1/items/{item}")["state"] == "proposed", seconds=60)
        with_child = subject.memory_mb()
        _rest(share.idle_seconds * 1.1)  # a child goes after a minute
        resident, proportional = subject.memory_mb()
        children = len(subject.tree()) - 1
        before = subject.cpu_seconds()
        _rest(share.idle_seconds)
        percent = (subject.cpu_seconds() - before) / share.idle_seconds * 100
    finally:
        subject.stop()
    after = f"after {share.idle_seconds:g} s without work, {children} children; proportional {proportional:.1f} MB"
    loaded = f"just after work, the parsers' process still there; proportional {with_child[1]:.1f} MB"
    return [
        Row("idle memory, all processes", "MB", [resident], Aim(90.0, "<"), after),
        Row("memory with a child loaded", "MB", [with_child[0]], Aim(90.0, "<"), loaded),
        Row(f"idle processor time over {share.idle_seconds:g} s", "%", [percent], Aim(0.5, "≤")),
    ]


def _rest(seconds: float) -> None:
    threading.Event().wait(seconds)  # the one thing that is measured here is that nothing happens
