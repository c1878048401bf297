"""Which narthexes this user has, which one is meant, and the owner sessions for them. Reads and writes only the user's
configuration folder, never a home."""

from __future__ import annotations

import fcntl
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from api.client import home_key
from pipelines.model.errors import Conflict, Invalid, NotFound
from pipelines.model.values import Home

_DEFAULT: Final = "~/Narthex"
_NAME: Final = re.compile(r"^[a-z0-9][a-z0-9_-]{0,39}$")


def config_folder(variables: Mapping[str, str]) -> Path:
    """``$XDG_CONFIG_HOME/narthex``; it need not exist."""
    stated = variables.get("XDG_CONFIG_HOME", "")
    return (Path(stated) if stated.startswith("/") else _user_folder(variables) / ".config") / "narthex"


def cache_folder(variables: Mapping[str, str]) -> Path:
    """``$XDG_CACHE_HOME/narthex``; what lies there may be deleted."""
    stated = variables.get("XDG_CACHE_HOME", "")
    return (Path(stated) if stated.startswith("/") else _user_folder(variables) / ".cache") / "narthex"


def _user_folder(variables: Mapping[str, str]) -> Path:
    stated = variables.get("HOME", "")
    return Path(stated) if stated.startswith("/") else Path.home()


def home_at(path: str, variables: Mapping[str, str]) -> Home:
    """The home at a path as a person types it; ``~`` is the user's folder, symbolic links stay as they are."""
    if path == "~" or path.startswith("~/"):
        path = str(_user_folder(variables)) + path[1:]
    return Home(Path(os.path.abspath(path)))  # noqa: PTH100  # Path has no such call that leaves links alone


def locate_home(option: str, variables: Mapping[str, str], registry: HomesRegistry) -> Home:
    """``--home``, else NARTHEX_HOME, else the registry's current one, else ``~/Narthex``.

    What is stated is a name of the registry or a path: a folder that is there, or one spelled with a slash. Raises
    ``NotFound``, with the names that there are, for a word that is neither, ``Invalid`` for a registry that is none.
    """
    stated = option or variables.get("NARTHEX_HOME", "")
    if not stated:
        return registry.read().chosen() or home_at(_DEFAULT, variables)
    if "/" in stated or stated == "~":
        return home_at(stated, variables)
    known = registry.read().paths
    if stated in known:
        return Home(Path(known[stated]))
    if Path(stated).is_dir():
        return home_at(stated, variables)
    raise NotFound(
        f"no home {stated[:60]!r}; known: {', '.join(known) or 'none'}", hint=f"A folder is spelled ./{stated[:60]}"
    )


def is_home(home: Home) -> bool:
    """Whether a narthex lives, or is meant to live, in this folder."""
    return home.settings.is_file() or (home.state.is_dir() and home.drop.is_dir())


def write_private(path: Path, text: str) -> None:
    """Puts the whole text there or leaves what was; readable by the user alone, as is its folder."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            os.fchmod(file.fileno(), 0o600)
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.rename(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


@dataclass(frozen=True, slots=True)
class Homes:
    """The registry's content: names, their folders, and the name of the one that is meant when none is said."""

    current: str = ""
    paths: Mapping[str, str] = field(default_factory=dict)

    def chosen(self) -> Home | None:
        """The current home, if there is one."""
        return Home(Path(self.paths[self.current])) if self.current else None

    def path_of(self, name: str) -> Path:
        """Raises ``NotFound``."""
        if name not in self.paths:
            raise NotFound(f"no home is called {name!r}", hint="narthex homes list")
        return Path(self.paths[name])

    def name_of(self, root: Path) -> str:
        """The name of the home at ``root``, empty when it has none."""
        return next((name for name, path in self.paths.items() if Path(path) == root), "")

    def free_name(self, root: Path) -> str:
        """A name for ``root`` that no other home has, made from its folder's."""
        name = re.sub(r"[^a-z0-9_-]+", "-", root.name.lower()).strip("-_")[:30] or "narthex"
        names = (name if number == 1 else f"{name}-{number}" for number in range(1, len(self.paths) + 2))
        return next(one for one in names if one not in self.paths)

    def with_home(self, name: str, root: Path) -> Homes:
        """One more; the first becomes the current. Raises ``Invalid`` for a name, ``PlaceTaken`` when one is taken."""
        _check_name(name)
        if name in self.paths or self.name_of(root):
            taken = name if name in self.paths else self.name_of(root)
            raise PlaceTaken(f"{taken!r} is {self.paths[taken]} already", hint="narthex homes list")
        return Homes(self.current or name, {**self.paths, name: str(root)})

    def using(self, name: str) -> Homes:
        """The same homes with another current one. Raises ``NotFound``."""
        self.path_of(name)
        return replace(self, current=name)

    def renamed(self, old: str, new: str) -> Homes:
        """Raises ``NotFound``, ``Invalid``, ``Conflict``."""
        self.path_of(old)
        _check_name(new)
        if new in self.paths:
            raise PlaceTaken(f"{new!r} is {self.paths[new]} already", hint="narthex homes list")
        paths = {new if name == old else name: path for name, path in self.paths.items()}
        return Homes(new if self.current == old else self.current, paths)

    def keeping(self, variables: Mapping[str, str], but: Path) -> Homes:
        """The same homes with the one that is meant until now as the current one, so that another can join them.

        That is ``~/Narthex``, which needs no name while it is alone, if it is in use and is not ``but``.
        """
        root = home_at(_DEFAULT, variables).root
        if self.current or root == but or not is_home(Home(root)):
            return self
        name = self.name_of(root)
        return self.using(name) if name else self.with_home(self.free_name(root), root)

    def without(self, name: str) -> Homes:
        """One less; the folder stays as it is. Raises ``NotFound``."""
        self.path_of(name)
        paths = {other: path for other, path in self.paths.items() if other != name}
        return Homes("" if self.current == name else self.current, paths)


class PlaceTaken(Conflict):
    """A folder or a name that belongs to something else."""

    title = "It is taken already"


class HomesRegistry:
    """``homes.toml`` in the user's configuration folder."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "homes.toml"

    def read(self) -> Homes:
        """Empty when there is no file. Raises ``Invalid`` when it is not what narthex writes."""
        try:
            content = self.path.read_bytes()
        except FileNotFoundError:
            return Homes()
        import tomllib

        try:
            return self._checked(tomllib.loads(content.decode()))
        except ValueError as error:
            raise Invalid(f"{self.path} cannot be read: {error}", hint="Mend or remove that file.") from error

    def change(self, step: Callable[[Homes], Homes]) -> Homes:
        """Replaces the content by what ``step`` makes of it, whole or not at all; one change at a time."""
        with self._alone():
            homes = step(self.read())
            write_private(self.path, _toml(homes))
        return homes

    def _checked(self, content: Mapping[str, object]) -> Homes:
        current, paths = content.get("current", ""), content.get("homes", {})
        if set(content) - {"current", "homes"} or not isinstance(current, str) or not isinstance(paths, dict):
            raise ValueError("it may hold 'current' and the table 'homes' only")
        if not all(isinstance(path, str) and path.startswith("/") for path in paths.values()):
            raise ValueError("each home is a path from the root")
        if current and current not in paths:
            raise ValueError(f"the current home {current!r} is not in the table")
        return Homes(current, paths)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder = os.open(self.path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            yield
        finally:
            os.close(folder)


class Bearers:
    """One owner session a home, in files that only the user can read."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "sessions"

    def of(self, home: Home) -> str:
        """Empty when there is none."""
        with suppress(FileNotFoundError):
            return (self._folder / home_key(home)).read_text("ascii").strip()
        return ""

    def store(self, home: Home, bearer: str) -> Path:
        """Replaces the one that was; answers where it lies."""
        path = self._folder / home_key(home)
        write_private(path, bearer + "\n")
        self._folder.chmod(0o700)
        return path

    def forget(self, home: Home) -> None:
        """Removes it from this machine; the daemon is not told."""
        (self._folder / home_key(home)).unlink(missing_ok=True)


def _check_name(name: str) -> None:
    if not _NAME.match(name):
        raise Invalid(f"a home is named by up to 40 small letters, digits, _ and -, not {name[:50]!r}")


def _toml(homes: Homes) -> str:
    lines = [f"current = {_quoted(homes.current)}", ""] if homes.current else []
    lines += ["[homes]", *(f"{_quoted(name)} = {_quoted(path)}" for name, path in homes.paths.items())]
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise Invalid("a home's path must be valid UTF-8 to be registered", hint="Use --home for this one.") from error
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")  # JSON's escapes are TOML's, but for DEL
