"""Names: what is ignored, what is shown, how twins and notes are called."""

from __future__ import annotations

import itertools
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daemon.drop.names import NAME_BYTES, IgnoreList, fitting, labels, shown, stored, twins

RAW = st.binary(min_size=1, max_size=255).filter(lambda raw: b"/" not in raw and b"\0" not in raw)


@pytest.mark.parametrize(
    "path",
    [".hidden", "~$a.docx", "x.part", "X.PART", "a/.git/config", "_done/2026-03-02/a", "STATUS.md", "#n.md#", "n~"],
)
def test_what_is_left_alone(path: str) -> None:  # B-W22
    assert IgnoreList().hides(path.split("/"))


@pytest.mark.parametrize(
    "path", ["a.txt", "part", "a/STATUS.md", "_mine/a", "a/_done/b", "x.parts", "ab.txt", "#tag.md"]
)
def test_what_is_not(path: str) -> None:  # B-W23: a pattern hides what it says and no more
    assert not IgnoreList().hides(path.split("/"))


@given(RAW)
def test_any_name_can_be_shown_and_stored(raw: bytes) -> None:  # S-051
    name = os.fsdecode(raw)
    for text in (shown(name), stored(name)):
        text.encode("utf-8")
    assert "\n" not in shown(name)
    assert "\x1b" not in shown(name)


@given(RAW, st.sampled_from([".why.txt", ".same-as.txt"]))
def test_every_twin_and_note_fits_and_differs(raw: bytes, extension: str) -> None:  # S-051 B-W17
    name = os.fsdecode(raw)
    first = list(itertools.islice(twins(name), 12))
    assert first[0] == name
    assert len(set(first)) == 12
    for one in (*first, fitting(name, "", extension)):
        assert 0 < len(os.fsencode(one)) <= NAME_BYTES
    assert fitting(name, "", extension).endswith(extension)


def test_a_cut_name_is_still_text_and_keeps_its_extension() -> None:  # B-W17
    cut = fitting("漢" * 84 + ".md", "-2")
    cut.encode("utf-8")
    assert cut.endswith("-2.md")
    assert fitting("漢" * 83 + "字.md", "-2") != cut


def test_folders_above_a_file_label_it() -> None:
    assert (labels(["work", "Acme Inc", "#x"], ["work"]).scope, labels(["work", "Acme Inc"], ["work"]).tags) == (
        "work",
        ("acme-inc",),
    )
    assert labels(["other", "other"], ["work"]).tags == ("other",)
    assert labels([], ["work"]).scope is None
