"""The mark by which a vault is known again: its absence means that the folder is not there, not that it is empty."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from pipelines.durable import disk_error, fsync_file, fsync_folder, make_folders

_MARKER: Final = ".narthex/vault.toml"
_TEXT: Final = "# narthex knows its vault by this file. While it is missing, no file counts as deleted.\nformat = 1\n"


def is_marked(vault: Path) -> bool:
    """Whether this folder is the vault, mounted and ours."""
    return (vault / _MARKER).is_file()


def mark(vault: Path) -> None:
    """Puts the mark in, durably; does nothing when it is there."""
    place = vault / _MARKER
    make_folders(place.parent, vault)
    try:
        with place.open("x", encoding="utf-8") as file:
            file.write(_TEXT)
            file.flush()
            fsync_file(file.fileno())
    except FileExistsError:
        return
    except OSError as error:
        raise disk_error(error, "the vault could not be marked") from error
    fsync_folder(place.parent)
