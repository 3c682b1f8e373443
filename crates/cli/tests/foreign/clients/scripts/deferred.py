"""What a client does that is shown less than there is: it is refused, searches, loads, hears that its
list is another one, and calls by name and by the tools of ours."""

import asyncio

from talk import dumped, tell, wait

MONDAY = {"name": "monday"}
ADD = {"name": "note_add", "arguments": {"line": "Oiled."}}
PATIENCE = 30


async def find_load_and_call(version, names, call, changed):
    """By a client's own way to list and to call; `changed` is set when it hears of another list."""
    tell("version", version)
    tell("tools", await names())
    tell("refused", dumped(await call("note_read", MONDAY)))
    tell("found", dumped(await call("tool_search", {"query": "read a note", "limit": 1})))
    wanted = {"names": ["note_add", "note_count", "note_read"]}
    tell("loaded", dumped(await call("tool_load", wanted)))
    await asyncio.wait_for(changed.wait(), PATIENCE)
    tell("changed", await names())
    tell("read", dumped(await call("note_read", MONDAY)))
    by_ours = {"name": "note_read", "arguments": MONDAY}
    tell("read by ours", dumped(await call("call_read", by_ours)))
    tell("too much", dumped(await call("call_read", ADD)))
    tell("asked", dumped(await call("call_write", ADD)))
    wait()
    tell("added", dumped(await call("call_write", ADD)))
    progress = []

    async def heard(done, total, message):
        progress.append([done, total, message])

    tell("counted", dumped(await call("call_read", {"name": "note_count"}, heard)))
    tell("progress", progress)
