"""The floor: an aiohttp loop that sends the same requests and stores nothing. Arguments: DATA BASE_URL CONCURRENCY."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path

import aiohttp
import orjson


async def main(bodies: Iterator[bytes], base_url: str, concurrency: int) -> None:
    async def worker(session: aiohttp.ClientSession) -> None:
        for body in bodies:
            async with session.post(f"{base_url}/chat/completions", data=body) as response:
                answer = orjson.loads(await response.read())
                answer["choices"][0]["message"]["content"].index("<score>")

    headers = {"Content-Type": "application/json"}
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), headers=headers) as session:
        await asyncio.gather(*(worker(session) for _ in range(concurrency)))


def _body(item: dict[str, object]) -> bytes:
    text = f"{item['reviews']}\n{item['summary']}"
    return orjson.dumps({"model": "mock", "messages": [{"role": "user", "content": text}], "temperature": 0.0})


requests = [_body(orjson.loads(line)) for line in Path(sys.argv[1]).read_bytes().splitlines()]
asyncio.run(main(iter(requests), sys.argv[2], int(sys.argv[3])))
