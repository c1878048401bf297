"""Takes rights away from this process, for good: uid, network, files, threads, memory, time. Never gives one back.

Linux only. What the kernel or the container refuses is left out and missing from the description; the limits on
memory, time and output always hold.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import pwd
import resource
import signal
import struct
import sys
import sysconfig
from dataclasses import dataclass
from typing import Final

from pipelines.isolation.limits import Limits

_NO_NEW_PRIVILEGES: Final = 38
_DUMPABLE: Final = 4
_PARENT_DEATH_SIGNAL: Final = 1
_SET_FILTER: Final = 22
_LOAD, _JUMP_IF_EQUAL, _JUMP_IF_AT_LEAST, _ANSWER = 0x20, 0x15, 0x35, 0x06
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000 | errno.EACCES
_SYSTEM_CALLS: Final = {"x86_64": (0xC000003E, 41), "aarch64": (0xC00000B7, 198)}  # architecture, number of socket()
_IO_URING_SETUP: Final = 425
_X32: Final = 0x40000000  # from here on x86-64 has every call a second time
_NEW_NETWORK: Final = 0x40000000
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_READ_FILE, _READ_FOLDER = 1 << 2, 1 << 3
_FILE_RIGHTS: Final = {1: 0x1FFF, 2: 0x3FFF, 3: 0x7FFF, 4: 0x7FFF, 5: 0xFFFF}
_TCP_RIGHTS: Final = 0b11  # bind, connect
_SCOPES: Final = 0b11  # abstract sockets, signals to others

_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True, slots=True)
class Jail:
    """``ruleset``: an open Landlock ruleset that each task puts on itself, or None; ``said``: what holds."""

    ruleset: int | None
    said: str


def enter() -> Jail:
    """For the supervisor of the tasks, once, after every module is in memory: drops uid, network and privileges."""
    holds = []
    ruleset = _landlock_ruleset()  # opened while the interpreter's folders can still be reached
    if os.geteuid() == 0:
        _libc.unshare(_NEW_NETWORK)  # empty, where the container allows it; the filter below does not depend on it
        holds.append(f"user {_become_nobody()}")
    if ruleset is not None:
        holds.append("no files")
    _libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    if _refuse_sockets():
        holds.append("no network")
    _libc.prctl(_DUMPABLE, 0, 0, 0, 0)  # nobody of the same uid may trace it or read its memory
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    return Jail(ruleset, ", ".join(holds))


def limit_task(limits: Limits, jail: Jail) -> None:
    """For one task, in its own process: what it may use. Its processor time counts from its fork."""
    _libc.prctl(_PARENT_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
    _lower(resource.RLIMIT_AS, limits.address_space)
    _lower(resource.RLIMIT_CPU, limits.cpu_seconds, grace=1)  # the signal that names the limit, then the one that kills
    _lower(resource.RLIMIT_NOFILE, limits.open_files)
    _lower(resource.RLIMIT_FSIZE, 0)
    _lower(resource.RLIMIT_NPROC, 0)  # neither a process nor a thread; does not bind root
    if jail.ruleset is not None:
        _libc.syscall(_RESTRICT_SELF, jail.ruleset, 0)
        os.close(jail.ruleset)


def _lower(kind: int, amount: int, grace: int = 0) -> None:
    _, most = resource.getrlimit(kind)
    hard = amount + grace if most == resource.RLIM_INFINITY else min(amount + grace, most)
    resource.setrlimit(kind, (min(amount, hard), hard))


def _become_nobody() -> str:
    try:
        entry = pwd.getpwnam("nobody")
        uid, gid = entry.pw_uid, entry.pw_gid
    except KeyError:
        uid = gid = 65534
    os.setgroups([])
    os.setresgid(gid, gid, gid)
    os.setresuid(uid, uid, uid)
    return "nobody"


def _refuse_sockets() -> bool:
    """A system call filter: no new socket, for good. The two that are open go on working."""
    known = _SYSTEM_CALLS.get(platform.machine())
    if known is None:
        return False
    architecture, socket_call = known
    program = (
        (_LOAD, 0, 0, 4),  # which kind of system calls
        (_JUMP_IF_EQUAL, 1, 0, architecture),
        (_ANSWER, 0, 0, _REFUSE),  # another kind would have other numbers
        (_LOAD, 0, 0, 0),  # which call
        (_JUMP_IF_AT_LEAST, 3, 0, _X32),
        (_JUMP_IF_EQUAL, 2, 0, socket_call),
        (_JUMP_IF_EQUAL, 1, 0, _IO_URING_SETUP),
        (_ANSWER, 0, 0, _ALLOW),
        (_ANSWER, 0, 0, _REFUSE),
    )
    code = b"".join(struct.pack("HBBI", *instruction) for instruction in program)
    buffer = ctypes.create_string_buffer(code, len(code))
    filter_ = struct.pack("HP", len(program), ctypes.addressof(buffer))
    return bool(_libc.prctl(_SET_FILTER, 2, filter_, 0, 0) == 0)


def _landlock_ruleset() -> int | None:
    """Denies every file but the interpreter's own, to be read; TCP and signals to others where the kernel knows how."""
    abi = _libc.syscall(_CREATE_RULESET, None, 0, 1)
    if abi < 1:
        return None
    files = _FILE_RIGHTS.get(abi, 0xFFFF)
    attributes = struct.pack("QQQ", files, _TCP_RIGHTS if abi >= 4 else 0, _SCOPES if abi >= 6 else 0)
    size = 24 if abi >= 6 else 16 if abi >= 4 else 8
    ruleset = _libc.syscall(_CREATE_RULESET, attributes, size, 0)
    if ruleset < 0:
        return None
    for folder in sorted({sys.prefix, sys.base_prefix, *sysconfig.get_paths().values()}):
        _allow_reading(ruleset, folder)
    return int(ruleset)


def _allow_reading(ruleset: int, folder: str) -> None:
    """Libraries load data files late; they lie beside the interpreter."""
    try:
        at = os.open(folder, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        rule = struct.pack("=Qi", _READ_FILE | _READ_FOLDER, at)
        _libc.syscall(_ADD_RULE, ruleset, 1, rule, 0)
    finally:
        os.close(at)
