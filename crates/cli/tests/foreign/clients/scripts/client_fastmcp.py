"""The client of FastMCP."""

import asyncio

from fastmcp.client import Client
from fastmcp.client.transports import StdioTransport

from hearing import Hearing
from talk import MODE, SERVER, does


def server():
    if "url" in SERVER:
        return SERVER["url"]
    command, *rest = SERVER["command"]
    return StdioTransport(command=command, args=rest, env=SERVER["env"])


async def main():
    hearing = Hearing()
    async with Client(server(), mode=MODE, message_handler=hearing) as client:

        async def call(name, given, heard=None):
            return await client.call_tool_mcp(name, given, progress_handler=heard)

        async def names():
            return [tool.name for tool in await client.list_tools()]

        async with hearing.of(client.session):
            await does(client.session.protocol_version, names, call, hearing.changed)


asyncio.run(main())
