"""An answer leaves at once: nothing waits for the other side to acknowledge the first half of it."""

from __future__ import annotations

import asyncio
import socket

from daemon.listeners import bind_loopback


def test_the_loop_turns_nagles_delay_off() -> None:  # 40 ms for each answer on a connection that is kept
    async def delayed() -> bool:
        accepted: asyncio.Future[bool] = asyncio.get_running_loop().create_future()

        async def served(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            connection = writer.get_extra_info("socket")
            accepted.set_result(not connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            writer.close()

        with bind_loopback(0) as door:
            server = await asyncio.start_server(served, sock=door)
            async with server:
                _, writer = await asyncio.open_connection(*door.getsockname())
                answer = await accepted
                writer.close()
                return answer

    assert not asyncio.run(delayed())
