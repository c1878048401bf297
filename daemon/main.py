"""The command ``narthexd``: reads its arguments and settings, takes the lock, serves until it is told to end.

Exit status: 0 ended when asked · 2 wrong arguments or settings · 6 the database cannot be reached · 70 an invariant
failed (start again: what was interrupted is finished) · 75 another process has the home or the port.
"""

from __future__ import annotations

import argparse
import gc
import logging
import os
import signal
import sys
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from api.cli._homes import HomesRegistry, config_folder, locate_home
from api.client import environment, socket_path
from daemon.settings import Configuration, read_settings
from daemon.terminal import say, version
from pipelines.model.errors import Broken, NarthexError, Refused

if TYPE_CHECKING:
    from daemon.listeners import Doors
    from daemon.wiring import Daemon

_BROKEN_DEADLINE: Final = 5.0  # seconds until a broken process is gone, whatever still hangs
_TURN: Final = 10.0  # seconds in which the loop of the doors must take its turn to count as alive
_log = logging.getLogger("narthex.daemon")


def main(arguments: Sequence[str] | None = None) -> int:
    """Answers the exit status; the texts on stderr say what, why and what to do."""
    options = _parser().parse_args(arguments)
    if options.version:
        say(f"narthex {version()}")
        return 0
    try:
        variables = environment()
        home = locate_home(options.home or "", variables, HomesRegistry(config_folder(variables)))
        configuration = read_settings(home, port=options.port)
        if options.check_config:
            say(f"{home.settings}: the settings are valid")
            return 0
        return run(configuration)
    except NarthexError as error:
        sys.stderr.write(f"narthexd: {error.message}\n" + (f"  {error.hint}\n" if error.hint else ""))
        return Refused.exit_code if isinstance(error, Refused) else error.exit_code  # of a service: never try again


def run(configuration: Configuration) -> int:
    """Runs one narthex in this process until a signal, or a broken invariant, ends it."""
    from daemon.logs import start_logging
    from daemon.single_instance import make_home, take_lock

    os.umask(0o077)
    # a lease on a dropped file that somebody opens at that very moment is announced by SIGIO, which kills by default
    signal.signal(signal.SIGIO, signal.SIG_IGN)
    start_logging(configuration.values.log_level)
    if make_home(configuration.home):
        say(f"A new narthex was made in {configuration.home.root}")
    lock = take_lock(configuration.home)
    try:
        return _Run(configuration).run()
    finally:
        lock.release()


class _Run:
    """From bound doors to closed store. ``fail`` may be called by any thread at any time."""

    def __init__(self, configuration: Configuration) -> None:
        from daemon.listeners import bind_loopback, bind_socket
        from daemon.notify import Notifier

        self._configuration = configuration
        self._loopback = bind_loopback(configuration.values.port)
        self._socket_at = socket_path(configuration.home)
        self._unix = bind_socket(self._socket_at)
        self._failed = threading.Event()
        self._daemon: Daemon | None = None
        self._notifier = Notifier(environment())
        self._doors: Doors | None = None

    def run(self) -> int:
        """Blocks until the end; answers the exit status, unless an invariant failed: then the process is gone."""
        from api.app import create_app
        from daemon.listeners import Doors
        from daemon.wiring import Daemon

        threading.excepthook = self._thread_died
        port = int(self._loopback.getsockname()[1])
        daemon = Daemon(self._configuration, port, self.fail)
        daemon.recover()
        self._daemon = daemon
        app = create_app(daemon.premises, daemon, port=port)

        def closing() -> None:
            self._notifier.stopping()
            app.end_streams()

        doors = self._doors = Doors(app, self._loopback, self._unix, closing=closing)
        daemon.start()
        gc.freeze()  # what lives as long as the process is no garbage: later collections pass it over
        if not self._failed.is_set():
            doors.serve(lambda: self._opened(daemon, doors, app.fresh_login_link()))
        if self._failed.is_set():
            logging.shutdown()
            os._exit(Broken.exit_code)  # nothing more is written: what holds is found out at the next start
        daemon.stop()
        self._socket_at.unlink(missing_ok=True)
        return 0

    def _opened(self, daemon: Daemon, doors: Doors, link: str) -> None:
        daemon.greet(link)
        self._notifier.ready(f"serving {daemon.premises.home.root} on {daemon.address}")
        self._notifier.watch(lambda: daemon.ailing() if doors.answer(_TURN) else "the doors hang")

    def fail(self, error: BaseException) -> None:
        """An invariant does not hold: nothing more is begun, and the process ends with 70 even if something hangs."""
        if self._failed.is_set():
            return
        self._failed.set()
        if self._daemon is not None:  # from this moment on nothing is acknowledged any more
            self._daemon.premises.database.halt(Broken("narthex is ending: an invariant failed"))
        _log.critical("broken: %s", error if isinstance(error, NarthexError) else type(error).__name__, exc_info=error)
        deadline = threading.Timer(_BROKEN_DEADLINE, os._exit, (Broken.exit_code,))
        deadline.daemon = True
        deadline.start()
        if self._doors is not None:
            self._doors.close()

    def _thread_died(self, died: threading.ExceptHookArgs) -> None:
        self.fail(died.exc_value or RuntimeError("a thread ended"))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="narthexd", description="The daemon of narthex: one for each home.")
    parser.add_argument(
        "--home",
        metavar="FOLDER",
        help="the home to serve, a folder or a name (else NARTHEX_HOME, else the current one)",
    )
    parser.add_argument("--port", type=int, metavar="N", help="TCP port on 127.0.0.1, instead of the settings' one")
    parser.add_argument("--check-config", action="store_true", help="read the settings, say whether they hold, and end")
    parser.add_argument("--version", action="store_true", help="print the version and end")
    return parser


if __name__ == "__main__":
    sys.exit(main())
