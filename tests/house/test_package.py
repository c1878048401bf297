"""The wheel holds everything that the program needs at run time, pages and migrations too, and nothing else of ours."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

from tests.house.source_tree import CODE, ROOT, tracked_files


def test_the_wheel_is_complete(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("narthex-*.whl")
    packed = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert {name.split("/")[0] for name in packed} == set(CODE)
    assert (
        _unit_found_by_the_installed(wheel, tmp_path / "installed") == (ROOT / "systemd/narthexd.service").read_text()
    )
    assert not {name for name in tracked_files() if name.startswith(tuple(f"{folder}/" for folder in CODE))} - packed


def _unit_found_by_the_installed(wheel: Path, place: Path) -> str:
    """What ``narthex service install`` would fill in, where there is no source tree."""
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(place)
    program = (
        f"import sys; sys.path.insert(0, {str(place)!r}); from api.cli._systemd import template; print(template())"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=place, check=True, capture_output=True, text=True)
    return done.stdout.removesuffix("\n")
