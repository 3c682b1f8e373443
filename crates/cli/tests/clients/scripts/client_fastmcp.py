"""The client of FastMCP."""

import asyncio

from fastmcp.client import Client
from fastmcp.client.transports import StdioTransport

from talk import MODE, SERVER, look_add_and_count


def server():
    if "url" in SERVER:
        return SERVER["url"]
    command, *rest = SERVER["command"]
    return StdioTransport(command=command, args=rest, env=SERVER["env"])


async def main():
    async with Client(server(), mode=MODE) as client:

        async def call(name, given, heard=None):
            return await client.call_tool_mcp(name, given, progress_handler=heard)

        version = client.session.protocol_version
        await look_add_and_count(version, await client.list_tools(), call)


asyncio.run(main())
