"""The client of the Python SDK."""

import asyncio

from mcp import Client
from mcp.client.stdio import StdioServerParameters

from talk import MODE, SERVER, look_add_and_count


def server():
    if "url" in SERVER:
        return SERVER["url"]
    command, *rest = SERVER["command"]
    return StdioServerParameters(command=command, args=rest, env=SERVER["env"])


async def main():
    async with Client(server(), mode=MODE) as client:

        async def call(name, given, heard=None):
            return await client.call_tool(name, given, progress_callback=heard)

        listed = await client.list_tools()
        await look_add_and_count(client.protocol_version, listed.tools, call)


asyncio.run(main())
