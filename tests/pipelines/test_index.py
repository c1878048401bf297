"""The index file: what it finds, that it may go at any time, and that rebuilding gives the same."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pysqlite3.dbapi2 as sqlite3
import pytest

from pipelines.index.search_index import IndexedRevision, IndexGone, SearchIndex, Stamp
from pipelines.index.snippet import snippet
from pipelines.index.tokens import plan
from pipelines.model.values import Home

SEEDS = IndexedRevision(
    "mem_seeds", "rev_1", "d1", "personal", "Seed storage", "Keep seeds cold.", "At 4 °C.", "Long detail.", ("garden",)
)


@pytest.fixture
def index(home: Home) -> Iterator[SearchIndex]:
    """Empty."""
    index = SearchIndex(home.index)
    yield index
    index.close()


def found(index: SearchIndex, query: str, scopes: tuple[str, ...] | None = None) -> list[str]:
    """Ids, best first."""
    return [candidate.memory_id for candidate in index.find(plan(query), scopes, 10)]


def memory(name: str, text: str = "", **parts: str) -> IndexedRevision:
    """A revision that says ``text``."""
    return replace(SEEDS, memory_id=name, revision_id=f"rev_{name}", title="", l0="", l1=text, l2="", tags=(), **parts)


def test_what_is_put_is_found_and_what_is_replaced_is_not(index: SearchIndex) -> None:
    index.put(SEEDS)
    for query in ("seed", "KEEP", "4", "detail", "gardens", "storage"):
        assert found(index, query) == ["mem_seeds"]
    index.put(replace(SEEDS, revision_id="rev_2", digest="d2", title="Bulbs", l0="", l1="", l2="", tags=()))
    assert found(index, "seed") == []
    assert found(index, "bulb") == ["mem_seeds"]
    assert index.stamps() == {"mem_seeds": Stamp("rev_2", "d2", "personal")}
    index.drop("mem_seeds")
    index.drop("mem_never")
    assert found(index, "bulb") == []
    assert index.extent() == (0, "")


def test_a_title_counts_more_than_a_long_text(index: SearchIndex) -> None:
    index.put(memory("mem_text", "about seeds and other things"))
    index.put(replace(memory("mem_title", "about other things and more"), title="Seeds"))
    assert found(index, "seeds") == ["mem_title", "mem_text"]


def test_scopes_are_kept_apart(index: SearchIndex) -> None:
    index.put(memory("mem_a", "seeds", scope="home"))
    index.put(memory("mem_b", "seeds", scope="work' OR 1=1 --"))
    assert found(index, "seeds", ("home",)) == ["mem_a"]
    assert found(index, "seeds", ("work' OR 1=1 --",)) == ["mem_b"]
    assert found(index, "seeds", ("other",)) == []
    assert found(index, "seeds", ()) == []
    assert sorted(found(index, "seeds")) == ["mem_a", "mem_b"]


@pytest.mark.parametrize("query", ["is my it", "the", "", "   ", "?!", "und die der", "y de la", "et le la"])
def test_a_query_that_says_nothing_finds_nothing(index: SearchIndex, query: str) -> None:
    # L-014
    index.put(memory("mem_a", "is my it the und die der y de la et le la ?!"))
    assert found(index, query) == []


def test_stop_words_of_one_language_are_words_of_another(index: SearchIndex) -> None:
    index.put(memory("mem_a", "how heroes die"))
    assert found(index, "how did they die") == ["mem_a"]
    assert plan("die Katze").terms == ("katze",)
    assert plan("war and peace").terms == ("war", "peace")
    assert plan("AI is go").terms == ("ai", "go")


@pytest.mark.parametrize(
    ("text", "queries"),
    [
        ("résumé", ["resume", "RÉSUMÉ", "re\u0301sume\u0301"]),
        ("re\u0301sume\u0301", ["résumé"]),
        ("Straße", ["strasse", "STRASSE"]),
        ("ﬁle Ｔｅｓｔ", ["file", "test"]),
        ("Ελληνικά", ["ελληνικα", "ΕΛΛΗΝΙΚΆ"]),
        ("Ёлка", ["елка"]),
        ("שָׁלוֹם", ["שלום"]),
        ("مَرْحَبًا", ["مرحبا"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("全文検索の仕組み", ["検索", "全文検索", "索", "仕組み", "み"]),
        ("我喜欢中文搜索引擎", ["搜索", "中文", "引擎", "我"]),
        ("메모리를 저장합니다", ["메모리", "저장"]),
        ("การค้นหาข้อมูล", ["ค้นหา", "ข้อมูล"]),
        ("ｶﾀｶﾅ ガイド", ["カタカナ", "ガイド"]),
        ("foo_bar C++ 3.14 e-mail", ["foo", "bar", "c++", "3.14", "e-mail", "foo_bar"]),
    ],
)
def test_a_person_finds_it_however_it_is_written(index: SearchIndex, text: str, queries: list[str]) -> None:
    # B-W13
    index.put(memory("mem_a", text))
    index.put(memory("mem_b", "something else: その他 另外 다른 อื่น"))
    for query in queries:
        assert found(index, query)[:1] == ["mem_a"], query


def test_rebuilding_gives_the_same(index: SearchIndex, home: Home, tmp_path: Path) -> None:
    # design 10.9: whatever came before
    revisions = [memory(f"mem_{number}", f"seeds number {number} 検索 " + "word " * number) for number in range(20)]
    for revision in [*reversed(revisions), SEEDS, *revisions[::3]]:
        index.put(revision)
    index.drop(SEEDS.memory_id)
    ranking = index.find(plan("seeds word 検索"), None, 20)
    index.close()
    before = _contents(home, tmp_path)
    rebuilt = SearchIndex(home.index)
    rebuilt.rebuild(revisions)
    assert rebuilt.find(plan("seeds word 検索"), None, 20) == ranking
    rebuilt.close()
    assert _contents(home, tmp_path) == before


def test_a_rebuild_that_fails_changes_nothing(index: SearchIndex) -> None:
    index.put(SEEDS)

    def revisions() -> Iterator[IndexedRevision]:
        yield memory("mem_a", "seeds")
        raise ValueError("the reader of state.db failed")

    with pytest.raises(ValueError, match="failed"):
        index.rebuild(revisions())
    assert found(index, "seeds") == ["mem_seeds"]


def test_the_file_may_be_deleted_while_in_use(index: SearchIndex, home: Home) -> None:
    index.put(SEEDS)
    home.index.unlink()
    for use in (
        lambda: found(index, "seed"),
        index.stamps,
        lambda: index.put(SEEDS),
        lambda: index.drop("x"),
        index.extent,
    ):
        with pytest.raises(IndexGone):
            use()
    index.revive()
    assert index.stamps() == {}
    index.put(SEEDS)
    index.revive()
    assert found(index, "seed") == ["mem_seeds"]


def test_a_file_that_was_exchanged_is_noticed(index: SearchIndex, home: Home) -> None:
    home.index.rename(home.index.with_suffix(".old"))
    home.index.write_bytes(b"something else")
    with pytest.raises(IndexGone):
        index.put(SEEDS)
    index.revive()
    index.put(SEEDS)


@pytest.mark.parametrize("damage", [b"", b"not a database " * 1000])
def test_a_file_that_was_emptied_or_damaged_is_noticed(index: SearchIndex, home: Home, damage: bytes) -> None:
    # S-067: larger than SQLite's cache, else it does not look at the file
    index.rebuild(
        memory(f"mem_{start}", " ".join(f"word{start + n}" for n in range(500))) for start in range(0, 150_000, 500)
    )
    for name in home.state.glob("index.db*"):
        name.write_bytes(damage)
    with pytest.raises(IndexGone):
        _use_up(index)
    index.revive()
    index.put(SEEDS)
    assert found(index, "seed") == ["mem_seeds"]


@pytest.mark.parametrize("content", ["version", "garbage", "foreign"])
def test_another_version_is_replaced_by_an_empty_index(home: Home, content: str) -> None:
    if content == "garbage":
        home.index.write_bytes(b"no database at all, and longer than a header would be " * 40)
    else:
        with sqlite3.connect(home.index) as connection:
            connection.execute("CREATE TABLE other (x)")
            if content == "version":
                connection.execute("PRAGMA user_version = 999")
        connection.close()
    index = SearchIndex(home.index)
    assert index.stamps() == {}
    index.put(SEEDS)
    index.close()
    kept = SearchIndex(home.index)
    assert found(kept, "seed") == ["mem_seeds"]
    kept.close()


def test_threads_share_it(index: SearchIndex) -> None:
    problems: list[Exception] = []

    def work(name: str) -> None:
        try:
            for number in range(20):
                index.put(memory(f"mem_{name}", f"seeds {number}"))
                found(index, "seeds")
        except Exception as error:  # noqa: BLE001 - reported by the test
            problems.append(error)

    threads = [threading.Thread(target=work, args=(str(number),)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    assert index.extent() == (6, "rev_mem_5")


def test_a_snippet_shows_where_most_words_meet() -> None:
    text = "seeds " + "filler " * 60 + "keep the *seeds* in a cold store " + "filler " * 60
    shown = snippet(text, plan("cold seed storage").terms)
    assert len(shown.text) <= 202
    assert [shown.text[start:end] for start, end in shown.matches] == ["seeds", "cold", "store"]
    assert shown.text.startswith("…")
    assert shown.text.endswith("…")
    assert snippet("短い全文検索の説明", plan("検索の").terms).matches == ((4, 7),)
    assert snippet("short", ("other",)).text == "short"
    assert snippet("", ("x",)).matches == ()


def _use_up(index: SearchIndex) -> None:
    for number in range(0, 150_000, 500):
        assert found(index, f"word{number}") == [f"mem_{number}"]


def _contents(home: Home, folder: Path) -> list[tuple[object, ...]]:
    """Every word with the memory and column it is in, whatever numbers the rows have."""
    copy = folder / "copy.db"
    copy.unlink(missing_ok=True)
    with sqlite3.connect(home.index) as source:
        source.execute("VACUUM INTO ?", (str(copy),))
    source.close()
    with sqlite3.connect(copy) as connection:
        connection.execute("CREATE VIRTUAL TABLE seen USING fts5vocab(words, instance)")
        rows: list[tuple[object, ...]] = connection.execute(
            "SELECT memory_id, revision_id, digest, scope, col, term, offset FROM seen JOIN entry ON number = doc "
            "ORDER BY memory_id, col, offset"
        ).fetchall()
    connection.close()
    return rows
