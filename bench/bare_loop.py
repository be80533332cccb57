"""The floor: an aiohttp loop that sends the same requests and stores nothing. Arguments: DATA BASE_URL CONCURRENCY."""

from __future__ import annotations

import asyncio
import sys

import aiohttp
import orjson


async def main(data: str, base_url: str, concurrency: int) -> None:
    with open(data, "rb") as file:
        bodies = iter([_body(orjson.loads(line)) for line in file])

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


asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
