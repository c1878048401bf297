"""The figures of this narthex for Prometheus: counts, ages and seconds; no text, no name, no id."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from fastapi import APIRouter
from starlette.responses import PlainTextResponse, Response

from api.doorway import DeclaredRoute
from api.meter import Family, exposition, family
from api.surface import Here, Surface
from pipelines.store import events, items, proposals

router = APIRouter(route_class=DeclaredRoute, tags=["health"])

_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"


@router.get("/metrics", operation_id="read_metrics", response_class=PlainTextResponse)
def read_metrics(here: Here) -> Response:
    """Everything in the text format of Prometheus."""
    families = [*_stored(here), *_process(here), *here.meter.families()]
    return Response(exposition(families), media_type=_TYPE)


def _stored(here: Surface) -> list[Family]:
    with here.premises.database.read() as session:
        by_state = items.count_items(session)
        suggested = proposals.count_proposals(session)
        oldest = proposals.oldest_pending(session)
        seq, _ = events.chain_head(session)
    age = 0.0 if oldest is None else max(0.0, (here.premises.clock() - oldest).total_seconds())
    in_state = [({"state": state.value}, float(count)) for state, count in sorted(by_state.items())]
    proposed = [({"state": state.value}, float(count)) for state, count in sorted(suggested.items())]
    return [
        family("narthex_items", "gauge", "Items by state.", in_state),
        family("narthex_proposals", "gauge", "Proposals by state.", proposed),
        family("narthex_oldest_pending_seconds", "gauge", "How long the oldest proposal has waited.", [({}, age)]),
        # items are never deleted, so that their number is the number of captures, before this process too
        family("narthex_captures_total", "counter", "Everything ever captured.", [({}, sum(by_state.values()))]),
        family("narthex_events_total", "counter", "Length of the event chain.", [({}, seq)]),
    ]


def _process(here: Surface) -> list[Family]:
    measures = here.daemon.measures()
    times = os.times()
    resident = int(Path("/proc/self/statm").read_text("ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    queued, streams = here.premises.database.waiting, here.streams.open
    return [
        family("narthex_drop_waiting", "gauge", "Files in the drop folder.", [({}, measures.drop_waiting)]),
        family("narthex_workers", "gauge", "Threads that work on items.", [({}, measures.workers)]),
        family("narthex_workers_busy", "gauge", "Those that work on one now.", [({}, measures.workers_busy)]),
        family("narthex_writer_queue", "gauge", "Writes that wait for the one writer.", [({}, queued)]),
        family("narthex_event_streams", "gauge", "Readers that follow the events.", [({}, streams)]),
        family("process_resident_memory_bytes", "gauge", "Memory of the daemon.", [({}, resident)]),
        family("process_cpu_seconds_total", "counter", "Processor time.", [({}, times.user + times.system)]),
        family(
            "process_start_time_seconds",
            "gauge",
            "When the process began, since 1970.",
            [({}, here.daemon.started_at.timestamp())],
        ),
    ]
