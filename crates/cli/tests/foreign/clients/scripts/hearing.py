"""How a client of the Python SDK hears that its list is another one."""

import asyncio
from contextlib import nullcontext

from mcp.client.subscriptions import listen
from mcp_types import ToolListChangedNotification

from talk import SERVER


class Hearing:
    def __init__(self):
        self.changed = asyncio.Event()

    async def __call__(self, message):
        if isinstance(message, ToolListChangedNotification):
            self.changed.set()

    def of(self, session):
        """From 2026-07-28 on nobody hears of a change who does not ask for it."""
        if SERVER["era"] == "legacy":
            return nullcontext()
        return listen(session, tools_list_changed=True)
