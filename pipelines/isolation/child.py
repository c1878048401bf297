"""The program of an extraction child: loads the parsers, gives up its rights, then forks one process a task.

The supervisor itself never touches an original: whatever a parser does, it does in a process that has the socket of
its own task only, and that is gone before the next task comes.
"""

from __future__ import annotations

import encodings
import gc
import importlib
import io
import os
import pkgutil
import select
import signal
import socket
import sys
from typing import BinaryIO, Final

from pipelines.extractors import Extractor, extractor_for, supported
from pipelines.extractors._detect import detect
from pipelines.extractors._magic import libmagic
from pipelines.isolation import confine, wire
from pipelines.isolation.limits import Limits
from pipelines.model.errors import Unreadable
from pipelines.model.family import Family
from pipelines.model.lifecycle import QuarantineReason
from pipelines.model.values import Extraction

_ENCRYPTED: Final = "application/encrypted"
_REQUEST_BYTES: Final = 8192
_DONE: Final = 0


def main() -> None:
    """``child CONTROL_FD LIMITS PACKAGE``; ends when the daemon goes or after an idle time."""
    control = socket.socket(fileno=int(sys.argv[1]))
    limits = Limits.from_json(sys.argv[2])
    family = Family(importlib.import_module(sys.argv[3]), Extractor)
    _load(family)
    os.dup2(os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC), sys.stderr.fileno())  # nothing of an original gets out
    jail = confine.enter()
    control.send(jail.said.encode() or b"-")
    while _wait(control, limits.idle_seconds):
        message, descriptors, _, _ = socket.recv_fds(control, _REQUEST_BYTES, 2)
        if not message or len(descriptors) != 2:
            return
        end = _run(control, limits, family, jail, message.decode(), *descriptors)
        if end is None:
            return
        control.send(end.to_json())


def _load(family: Family[Extractor]) -> None:
    """Everything into memory that a task may need: afterwards the interpreter's folders may be out of reach."""
    for module in pkgutil.iter_modules(encodings.__path__):
        if module.name not in {"mbcs", "oem"}:
            importlib.import_module(f"encodings.{module.name}")
    for extractor in family.load().values():
        for module_name in extractor.needs:
            importlib.import_module(module_name)
        extractor.read(io.BytesIO(extractor.sample), "sample")
    libmagic()
    gc.collect()
    gc.freeze()  # forked tasks share these pages


def _wait(control: socket.socket, seconds: float) -> bool:
    return bool(select.select([control], [], [], seconds)[0])


def _run(
    control: socket.socket,
    limits: Limits,
    family: Family[Extractor],
    jail: confine.Jail,
    name: str,
    original: int,
    reply: int,
) -> wire.End | None:
    """How the task ended; None when the daemon went away meanwhile."""
    task = os.fork()
    if task == 0:
        control.close()
        confine.limit_task(limits, jail)
        _answer(original, reply, name, limits, family)
        os._exit(_DONE)
    os.close(original)
    os.close(reply)
    return _watch(control, task, limits.wall_seconds)


def _watch(control: socket.socket, task: int, seconds: float) -> wire.End | None:
    ended = os.pidfd_open(task)
    watched: list[int] = [ended, control.fileno()]
    try:
        ready, _, _ = select.select(watched, [], [], seconds)
    finally:
        os.close(ended)
    if ended not in ready:
        os.kill(task, signal.SIGKILL)
    _, status = os.waitpid(task, 0)
    if control.fileno() in ready and ended not in ready:
        return None
    if not ready:
        return wire.End()
    return wire.End(signal=os.WTERMSIG(status)) if os.WIFSIGNALED(status) else wire.End(status=os.WEXITSTATUS(status))


def _answer(original: int, reply: int, name: str, limits: Limits, family: Family[Extractor]) -> None:
    """The edge of everything foreign: whatever a parser raises is a fault of this one original."""
    with socket.socket(fileno=reply) as connection:
        try:
            with open(original, "rb") as file:
                message = wire.success(_extract(file, name, limits, family))
        except Unreadable as error:
            message = wire.failure(error)
        except MemoryError:
            most = f"{limits.address_space // 2**20} MiB"
            message = wire.failure(Unreadable(f"reading it needs more memory than the limit of {most}"))
        except Exception as error:  # noqa: BLE001 -- a third party's parser may raise anything
            message = wire.failure(Unreadable(f"the reader failed with {type(error).__name__}"))
        connection.sendall(message)


def _extract(file: BinaryIO, name: str, limits: Limits, family: Family[Extractor]) -> Extraction:
    detected = detect(file, name)
    if detected.media_type == _ENCRYPTED:
        hint = "save it without the password and drop it again"
        raise Unreadable("the document is locked with a password", reason=QuarantineReason.NEEDS_PASSWORD, hint=hint)
    found = extractor_for(detected.media_type, family)
    if found is None:
        raise Unreadable(
            f"{detected.media_type} cannot be read; narthex reads {supported(family.load())}",
            reason=QuarantineReason.UNSUPPORTED,
            hint="if it holds text, export that to one of these formats and drop it; the original is kept",
        )
    kind, extractor = found
    size = os.fstat(file.fileno()).st_size
    if extractor.text_limit and size > limits.text_bytes:
        limit = f"{limits.text_bytes / 2**20:.3g} MiB"
        raise Unreadable(f"a text of {size} bytes is above the limit of {limit}", reason=QuarantineReason.TOO_LARGE)
    extracted = extractor.read(file, name)
    return Extraction(extracted, detected.media_type, detected.because, kind, _version(extractor))


def _version(extractor: Extractor) -> str:
    """The extractor's own version and those of the libraries it stands on."""
    libraries = {need.partition(".")[0] for need in extractor.needs}
    known = sorted(f"{name} {version}" for name in libraries if (version := _library_version(name)))
    return "; ".join([extractor.version, *known])


def _library_version(name: str) -> str:
    return str(getattr(sys.modules.get(name), "__version__", ""))


if __name__ == "__main__":
    main()
