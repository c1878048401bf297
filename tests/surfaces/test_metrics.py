"""The figures for Prometheus: read back by a strict reader, true, and open to those alone who may see them."""

from __future__ import annotations

import re

from api.meter import Meter, exposition, family
from tests.surfaces.rig import Rig

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = rf'{NAME}="(?:[^"\\\n]|\\\\|\\"|\\n)*"'
SAMPLE = re.compile(rf"({NAME})(?:\{{({LABEL}(?:,{LABEL})*)\}})? (-?[0-9.e+-]+|\+Inf|NaN)")
Labels = frozenset[tuple[str, str]]


def parsed(text: str) -> dict[str, dict[Labels, float]]:
    """Every sample by name and labels; fails at whatever the format does not allow."""
    assert text.endswith("\n")
    found: dict[str, dict[Labels, float]] = {}
    kinds: dict[str, str] = {}
    for line in text[:-1].split("\n"):
        if line.startswith("# HELP "):
            continue
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            assert name not in kinds
            assert kind in {"counter", "gauge", "histogram"}
            kinds[name] = kind
            continue
        match = SAMPLE.fullmatch(line)
        assert match, line
        name, labels, value = match[1], match[2] or "", float(match[3])
        pairs = frozenset((key, _plain(raw)) for key, raw in re.findall(rf'({NAME})="((?:[^"\\]|\\.)*)"', labels))
        assert re.sub(r"_(bucket|sum|count)$", "", name) in kinds or name in kinds, f"{name} has no TYPE"
        assert pairs not in found.setdefault(name, {}), f"{line} is there twice"
        found[name][pairs] = value
    return found


def _plain(raw: str) -> str:
    return re.sub(r"\\(.)", lambda found: "\n" if found[1] == "n" else found[1], raw)


def labels(**pairs: str) -> Labels:
    """As ``parsed`` keys them."""
    return frozenset(pairs.items())


def test_what_is_counted_is_so(rig: Rig) -> None:
    rig.unix.post("/v1/captures", json={"kind": "text", "text": "a thought"})
    rig.propose()
    rig.clock.advance(seconds=90)
    assert rig.unix.get("/v1/no-such-place").status_code == 404
    answer = rig.unix.get("/metrics")
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    figures = parsed(answer.text)
    assert figures["narthex_captures_total"] == {labels(): 1}
    assert figures["narthex_items"] == {labels(state="fetched"): 1}
    assert figures["narthex_proposals"] == {labels(state="pending"): 1}
    assert figures["narthex_oldest_pending_seconds"] == {labels(): 90}
    assert figures["narthex_drop_waiting"] == {labels(): 2}
    assert figures["narthex_workers_busy"] == {labels(): 1}
    assert figures["narthex_writer_queue"] == {labels(): 0}
    assert figures["narthex_events_total"][labels()] >= 3
    assert figures["process_resident_memory_bytes"][labels()] > 2**20
    assert figures["process_cpu_seconds_total"][labels()] > 0
    assert figures["process_start_time_seconds"] == {labels(): rig.daemon.started_at.timestamp()}
    requests = figures["narthex_http_requests_total"]
    assert requests[labels(method="POST", route="/v1/captures", status="201")] == 1
    assert requests[labels(method="GET", route="other", status="404")] == 1


def test_the_histogram_adds_up(rig: Rig) -> None:
    rig.tcp.get("/livez")
    rig.tcp.get("/livez")
    figures = parsed(rig.unix.get("/metrics").text)
    name = "narthex_http_request_duration_seconds"
    buckets = {
        float(dict(key)["le"].replace("+Inf", "inf")): count
        for key, count in figures[f"{name}_bucket"].items()
        if dict(key)["route"] == "/livez"
    }
    assert [buckets[bound] for bound in sorted(buckets)] == sorted(buckets.values())
    assert buckets[float("inf")] == figures[f"{name}_count"][labels(route="/livez")] == 2
    assert figures[f"{name}_sum"][labels(route="/livez")] > 0


def test_invented_methods_and_paths_make_no_series(rig: Rig) -> None:
    for number in range(30):
        rig.tcp.request(f"ODD{number}", f"/v1/odd/{number}")
        rig.tcp.get(f"/v1/items/itm_{number:012}", headers=rig.held("client", "capture"))
        rig.clock.advance(seconds=30)
    routes = {dict(key)["route"] for key in parsed(rig.unix.get("/metrics").text)["narthex_http_requests_total"]}
    assert {"other", "/v1/items/{item_id}"} <= routes
    assert len(routes) < 10


def test_labels_are_escaped() -> None:
    odd = 'a"b\\c\nd'
    text = exposition([family("x", "gauge", "two\nlines \\ here", [({"label": odd}, 0.5)])])
    assert parsed(text) == {"x": {labels(label=odd): 0.5}}
    assert len(text.splitlines()) == 3


def test_a_meter_takes_any_duration() -> None:
    meter = Meter()
    for seconds in (0.0, 0.005, 0.0050001, 3.0, 1e9):
        meter.answered("GET", "/livez", 200, seconds)
    counts = parsed(exposition(meter.families()))["narthex_http_request_duration_seconds_bucket"]
    assert [counts[labels(route="/livez", le=bound)] for bound in ("0.005", "0.01", "5", "10", "+Inf")] == [
        2,
        3,
        4,
        4,
        5,
    ]


def test_no_token_sees_them_over_tcp(rig: Rig) -> None:
    assert rig.tcp.get("/metrics").status_code == 401
    assert rig.tcp.get("/metrics", headers=rig.held("agent", "read", "propose", "capture")).status_code == 403
    assert rig.tcp.get("/metrics", headers=rig.owner()).status_code == 200
    assert rig.unix.get("/metrics").status_code == 200
