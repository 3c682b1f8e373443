"""The client of the Python SDK."""

import asyncio

from mcp import Client
from mcp.client.stdio import StdioServerParameters

from hearing import Hearing
from talk import MODE, SERVER, does


def server():
    if "url" in SERVER:
        return SERVER["url"]
    command, *rest = SERVER["command"]
    return StdioServerParameters(command=command, args=rest, env=SERVER["env"])


async def main():
    hearing = Hearing()
    async with Client(server(), mode=MODE, message_handler=hearing) as client:

        async def call(name, given, heard=None):
            return await client.call_tool(name, given, progress_callback=heard)

        async def names():
            return [tool.name for tool in (await client.list_tools()).tools]

        async with hearing.of(client.session):
            await does(client.protocol_version, names, call, hearing.changed)


asyncio.run(main())
