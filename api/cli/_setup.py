"""A narthex that does not exist yet: plans exactly what would be created, then creates that and nothing else.

Never overwrites, never writes into a folder that holds anything; what a person answers becomes captures, no memory.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Final

from api.cli._captures import Capture, Labels
from api.cli._homes import Homes, HomesRegistry, PlaceTaken, is_home
from api.cli._queue import put, queue_folder
from api.client import DEFAULT_PORT, Json, JsonObject, port_of
from pipelines.model.errors import Invalid
from pipelines.model.values import Home, ItemKind

_TEMPLATES: Final = Path(__file__).parent / "templates"
_DEFAULT_SCOPES: Final = ("personal",)
_HEAD: Final = (
    "# The settings of this narthex. A line that is not here has its default; narthex config shows what holds.",
    "# A variable such as NARTHEX_PORT wins over this file. narthexd refuses to start with a key it does not know.",
    "#",
    f"# port = {DEFAULT_PORT}",
    '# scopes = ["personal"]',
    "",
)


@dataclass(frozen=True, slots=True)
class Answers:
    """What the person said; empty: not said, and nothing comes of it."""

    name: str = ""
    work: str = ""
    preference: str = ""
    templates: tuple[str, ...] = ()
    port: int = DEFAULT_PORT
    scopes: tuple[str, ...] = _DEFAULT_SCOPES


@dataclass(frozen=True, slots=True)
class SetupPlan:
    """Exactly what will be created: the folders in this order, one file of settings, the captures, and new names."""

    home: Home
    name: str
    folders: tuple[Path, ...]
    settings: str
    captures: tuple[Capture, ...]
    register: Callable[[Homes], Homes]
    homes: Homes
    new_names: tuple[str, ...]
    registry: Path

    def lines(self) -> list[str]:
        """For a person, before anything is written."""
        lines = [f"  create  {folder}/" for folder in self.folders]
        lines.append(f"  create  {self.home.settings}   (readable by you alone)")
        lines += [
            f"  queue   {capture.labels.title}   (a proposal at most, until you approve it)"
            for capture in self.captures
        ]
        lines += [f"  name    {name} = {self.homes.paths[name]}   in {self.registry}" for name in self.new_names]
        current = self.homes.current
        lines.append(
            f"  use     {current} when no home is said"
            + ("" if current == self.name else f", as before; --use, or narthex homes use {self.name}, changes that")
        )
        return [*lines, "  nothing else; vault/ and state/ appear when narthexd first runs"]

    def document(self, outcome: str) -> JsonObject:
        """For a program."""
        creates: list[Json] = [str(path) for path in (*self.folders, self.home.settings)]
        titles: list[Json] = [capture.labels.title for capture in self.captures]
        root = str(self.home.root)
        current = self.homes.current
        names = {"name": self.name, "current": current}
        return {"outcome": outcome, "home": root, **names, "creates": creates, "captures": titles}


def template_names() -> list[str]:
    """The starter templates of this folder."""
    return sorted(path.stem for path in _TEMPLATES.glob("[a-z]*.md"))


def plan_setup(
    home: Home, name: str, answers: Answers, registry: HomesRegistry, variables: Mapping[str, str], *, use: bool
) -> SetupPlan:
    """Writes nothing. ``use`` makes it the current one even if another is.

    Raises ``PlaceTaken`` for a folder that is not free or a name that is taken.
    """
    _require_free(home.root)
    before = registry.read()
    kept = before.keeping(variables, home.root)
    chosen = name or kept.name_of(home.root) or kept.free_name(home.root)
    register = partial(_registered, home=home, name=chosen, variables=variables, use=use)
    homes = register(before)
    new_names = tuple(one for one in homes.paths if one not in before.paths)
    captures = tuple(_captures(answers))
    missing = [path for path in reversed(home.root.parents) if not path.exists()]
    folders = [*missing, *([] if home.root.exists() else [home.root]), home.drop]
    if captures:
        folders.append(queue_folder(home))
    settings = _settings(answers)
    return SetupPlan(home, chosen, tuple(folders), settings, captures, register, homes, new_names, registry.path)


def perform(
    plan: SetupPlan, registry: HomesRegistry, new_key: Callable[[], str], clock: Callable[[], datetime]
) -> None:
    """Creates what the plan says. Raises ``FileExistsError`` when something of it appeared meanwhile."""
    # the settings file is what makes a folder a home: it comes first, so that a second try finds one
    for folder in plan.folders:
        if folder == plan.home.drop:
            _write_new(plan.home.settings, plan.settings)
        folder.mkdir(mode=0o700)
    for capture in plan.captures:
        put(plan.home, capture, new_key(), clock())
    registry.change(plan.register)


def free_port(homes: Homes, variables: Mapping[str, str]) -> int:
    """The first port from 6278 on that no other registered home has in its settings."""
    stated = {key: value for key, value in variables.items() if key != "NARTHEX_PORT"}
    taken = {port_of(Home(Path(path)), stated) for path in homes.paths.values() if Path(path).exists()}
    return next(port for port in range(DEFAULT_PORT, 65536) if port not in taken)


def _registered(homes: Homes, home: Home, name: str, variables: Mapping[str, str], *, use: bool) -> Homes:
    kept = homes.keeping(variables, home.root)
    joined = kept if kept.name_of(home.root) == name else kept.with_home(name, home.root)
    return joined.using(name) if use else joined


def _require_free(root: Path) -> None:
    elsewhere = "Choose another folder: narthex init --home DIR"
    around = next((parent for parent in root.parents if is_home(Home(parent))), None)
    if around:
        raise PlaceTaken(f"{root} lies inside the narthex {around}", hint=elsewhere)
    if root.is_symlink() or (root.exists() and not root.is_dir()):
        raise PlaceTaken(f"{root} is there and is no folder", hint=elsewhere)
    if root.exists() and next(root.iterdir(), None) is not None:
        raise PlaceTaken(f"{root} is there and not empty; nothing was written", hint=elsewhere)


def _captures(answers: Answers) -> Sequence[Capture]:
    spoken = (
        ("How to address me", "I want to be called {}.", answers.name),
        ("What I work on", "I work on this: {}", answers.work),
        ("A preference of mine", "I prefer this: {}", answers.preference),
    )
    said = [
        Capture(ItemKind.TEXT, Labels(title, "said at the set-up", ("profile",)), sentence.format(answer))
        for title, sentence, answer in spoken
        if answer
    ]
    return [*said, *(_template(name) for name in answers.templates)]


def _template(name: str) -> Capture:
    content = (_TEMPLATES / f"{name}.md").read_text("utf-8")
    title = content.partition("\n")[0].lstrip("# ")
    return Capture(ItemKind.TEXT, Labels(title, "a starter template", ("template",)), content)


def _settings(answers: Answers) -> str:
    lines = list(_HEAD)
    if answers.port != DEFAULT_PORT:
        lines.append(f"port = {answers.port}")
    if answers.scopes != _DEFAULT_SCOPES:
        wrong = [scope for scope in answers.scopes if not scope.replace("_", "").replace("-", "").isalnum()]
        if wrong or not all(scope.isascii() and scope == scope.lower() for scope in answers.scopes):
            raise Invalid("a scope is named by small letters, digits, _ and -")
        lines.append("scopes = [" + ", ".join(f'"{scope}"' for scope in answers.scopes) + "]")
        lines.append(f'default_scope = "{answers.scopes[0]}"')
    return "\n".join(lines).rstrip("\n") + "\n"


def _write_new(path: Path, content: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
