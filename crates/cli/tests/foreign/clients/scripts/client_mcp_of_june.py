"""The client of the Python SDK as it was when 2025-06-18 was the newest version."""

import asyncio

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamablehttp_client
from mcp.types import ServerNotification, ToolListChangedNotification

from talk import SERVER, does


def server():
    if "url" in SERVER:
        return streamablehttp_client(SERVER["url"])
    command, *rest = SERVER["command"]
    return stdio_client(StdioServerParameters(command=command, args=rest, env=SERVER["env"]))


async def main():
    changed = asyncio.Event()

    async def hears(message):
        news = message.root if isinstance(message, ServerNotification) else None
        if isinstance(news, ToolListChangedNotification):
            changed.set()

    async with server() as (read, write, *_), ClientSession(
        read, write, message_handler=hears
    ) as session:
        begun = await session.initialize()

        async def call(name, given, heard=None):
            return await session.call_tool(name, given, progress_callback=heard)

        async def names():
            return [tool.name for tool in (await session.list_tools()).tools]

        await does(begun.protocolVersion, names, call, changed)


asyncio.run(main())
