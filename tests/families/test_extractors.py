"""The contract of every extractor: deterministic, survives what is empty, cut or garbage, finds its phrases."""

from __future__ import annotations

import importlib
import io
import json
import random
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from pipelines.extractors import EXTRACTORS, Extractor, extractor_for
from pipelines.isolate import ExtractionPool, Limits
from pipelines.model.errors import Unreadable
from pipelines.model.lifecycle import QuarantineReason
from pipelines.model.values import Completeness

SAMPLES = Path(__file__).resolve().parents[1] / "samples" / "extractors"
ROOT = Path(__file__).resolve().parents[2]
MEMBERS = sorted(EXTRACTORS.load())


@dataclass(frozen=True)
class Expected:
    """What must come out of a sample; ``reason``: it cannot be read, and this is why."""

    phrases: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    completeness: str = ""
    details: tuple[str, ...] = ()
    metadata: tuple[tuple[str, str], ...] = ()
    reason: str = ""

    @staticmethod
    def of(sample: Path) -> Expected:
        fields = json.loads(sample.with_name(sample.name + ".json").read_text("utf-8"))
        return Expected(
            phrases=tuple(fields.get("phrases", ())),
            absent=tuple(fields.get("absent", ())),
            completeness=fields.get("completeness", ""),
            details=tuple(fields.get("details", ())),
            metadata=tuple(fields.get("metadata", {}).items()),
            reason=fields.get("reason", ""),
        )


def samples() -> Iterator[Path]:
    for path in sorted(SAMPLES.glob("*/*")):
        if path.suffix != ".json":
            yield path


@pytest.fixture(scope="module")
def pool() -> Iterator[ExtractionPool]:
    pool = ExtractionPool(Limits())
    yield pool
    pool.close()


@pytest.mark.parametrize("sample", list(samples()), ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_sample_yields_what_it_must(sample: Path, pool: ExtractionPool) -> None:  # F-021, F-022
    expected = Expected.of(sample)
    if expected.reason:
        with pytest.raises(Unreadable) as refused:
            pool.extract(sample, sample.name)
        assert refused.value.reason == QuarantineReason(expected.reason)
        return
    extraction = pool.extract(sample, sample.name)
    assert extraction.extractor == sample.parent.name
    found = extraction.extracted
    assert [phrase for phrase in expected.phrases if phrase not in found.text] == []
    assert [phrase for phrase in expected.absent if phrase in found.text] == []
    assert found.completeness == Completeness(expected.completeness)
    assert found.details == expected.details
    assert {key: found.metadata.get(key) for key, _ in expected.metadata} == dict(expected.metadata)


@pytest.mark.parametrize("name", MEMBERS)
def test_a_member_has_a_sample(name: str) -> None:
    assert any(sample.parent.name == name for sample in samples())


@pytest.mark.parametrize("name", MEMBERS)
def test_a_member_is_declared_soundly(name: str) -> None:
    member = EXTRACTORS[name]
    assert member.media_types
    assert member.version
    for module in member.needs:
        importlib.import_module(module)
    assert all(extractor_for(kind.replace("*", "x-anything")) == (name, member) for kind in member.media_types)


def test_no_media_type_has_two_readers() -> None:
    claimed = [kind for member in EXTRACTORS.load().values() for kind in member.media_types]
    assert sorted(claimed) == sorted(set(claimed))


@pytest.mark.parametrize("name", MEMBERS)
def test_the_same_bytes_give_the_same_text(name: str) -> None:
    member = EXTRACTORS[name]
    assert member.read(io.BytesIO(member.sample), "a") == member.read(io.BytesIO(member.sample), "a")


@pytest.mark.parametrize("name", MEMBERS)
def test_nothing_but_unreadable_is_raised(name: str) -> None:  # S-056, B-W14
    """Empty, blank, garbage, and the member's own sample cut or damaged anywhere."""
    member = EXTRACTORS[name]
    chance = random.Random(name)
    whole = member.sample
    broken = [
        b"",
        b" \n",
        b"\x00" * 50,
        chance.randbytes(500),
        b"%PDF-1.7\n",
        b"PK\x03\x04",
        b"<html>",
        b"\xff\xfe\x00",
    ]
    broken += [whole[: len(whole) * part // 8] for part in range(1, 8)]
    broken += [
        whole[:at] + chance.randbytes(3) + whole[at + 3 :] for at in range(0, len(whole), max(1, len(whole) // 20))
    ]
    for original in broken:
        reason, text = _outcome(member, original)
        assert text.strip() or reason in set(QuarantineReason), "an empty text is no success"


def _outcome(member: Extractor, original: bytes) -> tuple[str, str]:
    try:
        return "", member.read(io.BytesIO(original), "a").text
    except Unreadable as refused:
        return refused.reason, ""


def test_what_the_members_need_is_declared() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["dependencies"]
    names = {line.split(">")[0].split(",")[0].strip().lower().replace("_", "-") for line in declared}
    needed = {need.partition(".")[0] for member in EXTRACTORS.load().values() for need in member.needs}
    distributions = {"yaml": "pyyaml", "charset_normalizer": "trafilatura", "_strptime": "trafilatura"}
    assert {distributions.get(name, name).replace("_", "-") for name in needed} <= names
