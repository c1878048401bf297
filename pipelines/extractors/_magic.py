"""libmagic, from the system or from the pylibmagic package; whatever importing the latter changes is put back."""

from __future__ import annotations

import ctypes
import os
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from magic import Magic


@cache
def libmagic() -> Magic:
    """One detector of media types for this process, its database in memory."""
    try:
        import magic
    except ImportError:
        return _packaged()
    return magic.Magic(mime=True)


def _packaged() -> Magic:
    """pylibmagic patches the environment and ctypes so that python-magic finds it: needed once, undone at once."""
    environment = dict(os.environ)
    opener = ctypes.CDLL.__init__
    try:
        import pylibmagic  # isort: split

        import magic

        return magic.Magic(mime=True, magic_file=str(pylibmagic.data.joinpath("magic.mgc")))
    finally:
        ctypes.CDLL.__init__ = opener  # type: ignore[method-assign]
        os.environ.clear()
        os.environ.update(environment)
