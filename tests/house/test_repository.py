"""What is published: a fixed top level, a README in each folder, no addresses of one machine, free licences."""

from __future__ import annotations

import importlib.metadata
import re
import tomllib
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Final

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.house.source_tree import CODE, ROOT, assert_none, tracked_files

TOP_LEVEL: Final = frozenset(
    {".ci", ".gitignore", "LICENSE", "README.md", "api", "daemon", "pipelines", "pyproject.toml", "systemd", "tests"}
)
WITHOUT_README: Final = frozenset({"pipelines/store/migrations", "pipelines/store/migrations/versions"})
"""Folders that the README above them explains."""

# put together from halves, so that this file does not contain what it forbids
UNPUBLISHABLE: Final = tuple(
    a + b
    for a, b in (
        ("pypi", ".org"),
        ("python", "hosted.org"),
        ("npmjs", ".org"),
        ("npmjs", ".com"),
        ("deb.", "debian.org"),
        ("crates", ".io"),
        ("--index", "-url http"),
        ("/work", "/main"),
        ("/work", "/shared"),
        ("/ro", "ot/"),
        ("/tmp", "/w/"),
    )
)
PERMISSIVE: Final = re.compile(
    r"\b(MIT|BSD|0BSD|ISC|Apache|Python Software Foundation|PSF|Zlib|zlib|Unlicense|MPL|Mozilla|CC0|HPND)\b",
    re.IGNORECASE,
)
"""MPL is copyleft for its own files alone, which we do not change."""
COPYLEFT: Final = re.compile(r"\b(A?GPL|L?GPLv?\d*|General Public|SSPL|BUSL|Commons Clause)\b", re.IGNORECASE)
CHOSEN: Final = {
    "pysqlite3": "zlib, as its repository says; the wheel is silent",
    "tld": "MPL-1.1, of the three that its authors offer",
    "psycopg": "LGPL-3.0: an optional driver, imported as it is and replaceable",
    "psycopg-binary": "LGPL-3.0: an optional driver, imported as it is and replaceable",
}
"""Distributions whose licence needs a word."""


def unpublishable(name: str, text: str) -> Iterator[str]:
    """Hosts of package registries, and paths of one machine."""
    for needle in UNPUBLISHABLE:
        if needle in text:
            yield f"{name} contains {needle}"


def runtime_distributions() -> set[str]:
    """narthex's dependencies and theirs, as far as this environment has them installed; test tools apart."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    waiting = [*project["dependencies"], *project["optional-dependencies"]["postgres"]]
    found: set[str] = set()
    while waiting:
        requirement = Requirement(waiting.pop())
        name = canonicalize_name(requirement.name)
        if name not in found:
            found.add(name)
            waiting += _needed_by(name, requirement.extras)
    return found


def _needed_by(name: str, extras: set[str]) -> Iterator[str]:
    for text in importlib.metadata.requires(name) or []:
        marker = Requirement(text).marker
        if marker is None or any(marker.evaluate({"extra": extra}) for extra in (*extras, "")):
            yield text.partition(";")[0]


def licence_of(name: str) -> str:
    """What a distribution says of its licence: the expression, the classifiers, else the first line of the text."""
    about = importlib.metadata.metadata(name)
    classifiers = [line for line in about.get_all("Classifier") or [] if line.startswith("License")]
    expressions = about.get_all("License-Expression") or []
    spoken = [line for text in about.get_all("License") or [] for line in text.strip().splitlines()[:1]]
    return " | ".join([*expressions, *classifiers, *spoken])


def test_the_top_level_is_fixed() -> None:
    assert {PurePosixPath(name).parts[0] for name in tracked_files()} == TOP_LEVEL


def test_every_folder_has_a_readme() -> None:
    folders = {PurePosixPath(name).parent.as_posix() for name in tracked_files() if name.endswith(".py")}
    ours = {folder for folder in folders if folder.startswith(CODE)} | {"systemd", "tests"}
    assert not {folder for folder in ours - WITHOUT_README if not (ROOT / folder / "README.md").exists()}


def test_nothing_names_a_registry_or_a_machine() -> None:
    problems: list[str] = []
    for name in tracked_files():
        if not name.startswith("tests/samples/"):
            problems += unpublishable(name, (ROOT / name).read_bytes().decode("utf-8", "replace"))
    assert_none(problems)


def test_dependencies_are_free_to_use_and_to_pass_on() -> None:
    problems = []
    for name in sorted(runtime_distributions()):
        licence = licence_of(name)
        if name not in CHOSEN and (COPYLEFT.search(licence) or not PERMISSIVE.search(licence)):
            problems.append(f"{name}: {licence or 'says nothing'}")
    assert_none(problems)


def test_the_lock_pins_all_that_is_declared() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    declared = [*project["dependencies"], *project["optional-dependencies"]["test"]]
    lock = (ROOT / ".ci/requirements.lock").read_text("utf-8")
    pinned = dict(re.findall(r"^([a-z0-9.-]+)==(\S+)", lock, re.MULTILINE))
    for requirement in map(Requirement, declared):
        version = pinned.get(canonicalize_name(requirement.name))
        assert version is not None, f"{requirement.name} is not in the lock"
        assert requirement.specifier.contains(version), f"{requirement} against {version} in the lock"
    assert all("--hash=sha256:" in entry for entry in re.split(r"\n(?=[a-z])", lock)[1:])


def test_the_rules_catch_what_they_forbid() -> None:  # the seeded violations
    assert list(unpublishable("notes.txt", "https://" + UNPUBLISHABLE[0]))
    assert COPYLEFT.search("GNU General Public License v3 (GPLv3)")
    assert COPYLEFT.search("AGPL-3.0-only")
    assert not COPYLEFT.search("MIT License")
