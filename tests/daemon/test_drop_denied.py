"""narthexd where the system denies it something: permissions as any user has them, watches that are used up."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from shutil import which
from typing import Final

import pytest

from api.client import Client
from tests.end_to_end.narthexd import Narthexd
from tests.need import need
from tests.waiting import until

_DAEMON: Final = "from daemon.main import main; raise SystemExit(main())"
_AS_ANY_USER: Final = "--bounding-set=-dac_override,-dac_read_search,-fowner"


class Denied(Narthexd):
    """Run through another program that takes something away from it."""

    def __init__(self, root: Path, before: tuple[str, ...]) -> None:
        super().__init__(root)
        arguments = f"[*{before!r}, sys.executable, '-c', {_DAEMON!r}, *sys.argv[1:]]"
        self.entry = ("-c", f"import os, sys; os.execvp({before[0]!r}, {arguments})")
        self.me: Client | None = None

    def start(self, *arguments: str, wait: bool = True) -> Denied:
        """As any narthexd, with an owner session as ``me``: a code works once."""
        super().start(*arguments, wait=wait)
        self.me = self.owner()
        return self

    def drop_check(self) -> str:
        """What the owner is told of the drop folder."""
        assert self.me is not None
        checks = self.me.call("GET", "/v1/status")["checks"]
        assert isinstance(checks, Mapping)
        drop = checks["drop"]
        assert isinstance(drop, Mapping)
        return str(drop["detail"])

    def status(self) -> str:
        """STATUS.md as it is now."""
        path = self.home.drop / "STATUS.md"
        return path.read_text("utf-8") if path.exists() else ""

    def names(self) -> list[str]:
        """Of all items."""
        assert self.me is not None
        return sorted(str(row["name"]) for row in self.me.pages("/v1/items", {}, 1000))


@contextmanager
def any_user(root: Path) -> Iterator[Denied]:
    """Not started. Root without its power over files follows permissions as any user does."""
    daemon = Denied(root, ("setpriv", _AS_ANY_USER) if os.geteuid() == 0 else ("env",))
    daemon.home.drop.mkdir(parents=True)
    daemon.home.root.chmod(0o700)
    try:
        yield daemon
    finally:
        daemon.close()
        for path in daemon.home.drop.rglob("*"):
            if path.is_dir():
                path.chmod(0o700)
        daemon.home.drop.chmod(0o700)


needs_setpriv = pytest.mark.skipif(os.geteuid() == 0 and which("setpriv") is None, reason="setpriv is not installed")


@needs_setpriv
def test_what_may_not_be_moved_is_taken_once_and_what_may_not_be_read_is_tried_again(tmp_path: Path) -> None:
    # B-W11, S-054: a folder that may not be written, a file of mode 000, one of another owner
    with any_user(tmp_path / "home") as daemon:
        drop = daemon.home.drop
        (drop / "ro").mkdir()
        (drop / "ro" / "x.txt").write_text("x", "utf-8")
        (drop / "secret.txt").write_text("secret", "utf-8")
        (drop / "ro").chmod(0o555)
        (drop / "secret.txt").chmod(0)
        if os.geteuid() == 0:
            (drop / "other.txt").write_text("other", "utf-8")
            (drop / "other.txt").chmod(0o600)
            os.chown(drop / "other.txt", 65534, 65534)
        daemon.start()
        until(lambda: "it stays, since it may not be moved away" in daemon.status())
        until(lambda: "`secret.txt` waiting: it cannot be opened" in daemon.status())
        until(lambda: "not to be moved away: 1" in daemon.drop_check())
        until(lambda: "to be tried again: " in daemon.drop_check())
        assert "tries, next " in daemon.status() or "try, next " in daemon.status()
        (drop / "fine.txt").write_text("fine", "utf-8")
        until(lambda: not (drop / "fine.txt").exists())
        (drop / "secret.txt").chmod(0o600)  # tried again by itself
        if (drop / "other.txt").exists():
            os.chown(drop / "other.txt", 0, 0)
        until(lambda: not (drop / "secret.txt").exists(), seconds=40)
        assert (drop / "ro" / "x.txt").read_text("utf-8") == "x"
        assert daemon.names().count("x.txt") == 1
        assert daemon.stop() == 0
        daemon.start()
        until(lambda: "not to be moved away: 1" in daemon.drop_check())
        (drop / "ro").chmod(0o755)
        until(lambda: not (drop / "ro" / "x.txt").exists())
        assert daemon.names().count("x.txt") == 1
        until(lambda: daemon.status().count("`x.txt` taken in") == 2)  # when it was, and when it could be moved


@needs_setpriv
def test_a_read_only_drop_folder_is_read_and_says_so(tmp_path: Path) -> None:  # S-054, B-W11
    with any_user(tmp_path / "home") as daemon:
        drop = daemon.home.drop
        (drop / "a.txt").write_text("a", "utf-8")
        drop.chmod(0o555)
        for _ in range(2):
            daemon.start()
            until(lambda: "the folder is read-only; looked at and staying: 1" in daemon.drop_check())
            assert daemon.stop() == 0
        drop.chmod(0o755)
        daemon.start()
        until(lambda: list(drop.glob("_done/*/a.txt")))
        assert daemon.names() == ["a.txt"]


@pytest.mark.parametrize(("limit", "number"), [("max_inotify_watches", 3), ("max_inotify_instances", 0)])
def test_without_watches_it_polls_and_says_so(tmp_path: Path, limit: str, number: int) -> None:  # S-052, B-W20
    need("root")
    inside = f'echo {number} > /proc/sys/user/{limit} && exec "$@"'
    if subprocess.run(
        ["unshare", "-Ur", "sh", "-c", inside, "sh", "true"], check=False, capture_output=True
    ).returncode:
        pytest.skip("no user namespaces here")
    daemon = Denied(tmp_path / "home", ("unshare", "-Ur", "sh", "-c", inside, "sh"))
    drop = daemon.home.drop
    (drop / "projects" / "deep").mkdir(parents=True)
    (drop / "projects" / "deep" / ".keep").touch()  # a folder that stays, and would need a watch of its own
    daemon.home.root.chmod(0o700)
    try:
        daemon.start()
        until(lambda: daemon.drop_check().startswith("degraded: polling, "))
        names = [f"{number}.txt" for number in range(200)]
        for name in names:
            (drop / "projects" / "deep" / name).write_text(name, "utf-8")
        until(lambda: not list(drop.glob("projects/deep/*.txt")), seconds=60)
        assert daemon.names() == sorted(names)
        if limit == "max_inotify_watches":
            more = f"echo 1000 > /proc/sys/user/{limit}"
            subprocess.run(["nsenter", "-U", "-t", str(daemon.pid), "sh", "-c", more], check=True)
            until(lambda: daemon.drop_check().startswith("watching"), seconds=40)  # by itself
    finally:
        daemon.close()
