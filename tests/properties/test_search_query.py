"""No query is an error, whatever its characters; a text is found by each of its words that means something."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from pipelines.index.search_index import IndexedRevision, SearchIndex
from pipelines.index.snippet import snippet
from pipelines.index.tokens import plan

# machines under load are slow, which proves nothing
patient = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

# S-052, security 2.2: what broke FTS5 in the servers that were studied
TRAPS = [
    '"',
    "a AND",
    "NEAR(",
    "*",
    "a:b",
    "-",
    "(" * 500,
    "^a",
    "{a b}: c",
    "title:",
    "a\0b",
    "\ud800",
    "a OR OR",
    "' OR 1=1 --",
    "+",
    "\u0301",
]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SearchIndex]:
    """Holds one memory."""
    index = SearchIndex(tmp_path_factory.mktemp("index") / "index.db")
    index.put(_revision("seeds in a cold store"))
    yield index
    index.close()


@patient
@given(st.one_of(st.text(), st.lists(st.sampled_from([*TRAPS, "cold", "種"])).map(" ".join)))
@example("(" * 500)
@example("a " * 100_000)
@example("cold " + "AND NOT NEAR OR " * 50)
def test_any_query_is_answered(index: SearchIndex, query: str) -> None:
    wanted = plan(query)
    assert len(wanted.terms) <= 64
    for candidate in index.find(wanted, ("personal",), 10):
        assert candidate.memory_id == "mem_1"


@patient
@given(st.text(min_size=1, max_size=60))
def test_a_text_is_found_by_its_own_words(index: SearchIndex, text: str) -> None:
    # W13: whatever script, case and Unicode form it is in
    index.put(_revision(text))
    wanted = plan(text)
    if any(term.isalnum() for term in wanted.terms):
        assert [candidate.memory_id for candidate in index.find(wanted, None, 10)] == ["mem_1"]


@patient
@given(st.text(max_size=600), st.text(max_size=30))
def test_a_snippet_is_a_short_piece_with_true_ranges(text: str, query: str) -> None:
    answer = snippet(text, plan(query).terms)
    assert len(answer.text) <= 202
    assert answer.text.strip("…") in " ".join(text.split()) or "…" in text
    ends = 0
    for start, end in answer.matches:
        assert ends <= start < end <= len(answer.text)
        ends = end


def _revision(text: str) -> IndexedRevision:
    return IndexedRevision("mem_1", "rev_1", "d", "personal", "title", "", text, "", ())
