"""A family: a folder in which every file is one kind of the same thing. Scans once; nothing registers by hand."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator, Mapping
from types import MappingProxyType, ModuleType
from typing import Generic, TypeVar

from pipelines.model.errors import Broken

Member = TypeVar("Member")


class Family(Generic[Member]):
    """Maps each member's name (its file name) to the one object of ``kind`` that the file declares.

    Files that start with ``_`` are not members. A file that fails to import, or that declares no member or two, raises
    ``Broken`` with its name at ``load()``, so that the process does not start with half a family.
    """

    def __init__(self, package: ModuleType, kind: type[Member]) -> None:
        self._package = package
        self._kind = kind
        self._members: Mapping[str, Member] | None = None

    def load(self) -> Mapping[str, Member]:
        """All members, scanned on the first call."""
        if self._members is None:
            self._members = MappingProxyType(dict(self._scan()))
        return self._members

    def __getitem__(self, name: str) -> Member:
        return self.load()[name]

    def _scan(self) -> Iterator[tuple[str, Member]]:
        names = sorted(module.name for module in pkgutil.iter_modules(self._package.__path__))
        for name in names:
            if not name.startswith("_"):
                yield name, self._only_member(f"{self._package.__name__}.{name}")

    def _only_member(self, module_name: str) -> Member:
        try:
            module = importlib.import_module(module_name)
        except Exception as error:
            raise Broken(f"{module_name} cannot be imported: {error}") from error
        found = [value for value in vars(module).values() if isinstance(value, self._kind)]
        if len(found) != 1:
            raise Broken(f"{module_name} must declare exactly one {self._kind.__name__}, it declares {len(found)}")
        return found[0]
