"""What a script and the test that runs it say to each other: one JSON text a line."""

import json
import logging
import sys

SERVER = json.loads(sys.argv[1])

MODE = {"legacy": "legacy", "auto": "auto", "modern": "2026-07-28"}[SERVER["era"]]


def tell(name, value):
    print(json.dumps({name: value}), flush=True)


class Complaints(logging.Handler):
    """What a library complains about is told, where the test expects something else."""

    def emit(self, record):
        tell("complaint", record.getMessage())


logging.getLogger().addHandler(Complaints(logging.WARNING))


def wait():
    """Until a person has done something."""
    sys.stdin.readline()


def dumped(result):
    """A result as it came; what kind it is, the library also says where the server did not."""
    return result.model_dump(by_alias=True, mode="json", exclude_none=True, exclude={"result_type"})


async def does(version, names, call, changed):
    """What the test wants, by a client's own way to list and to call."""
    if SERVER["shown"] == "few":
        from deferred import find_load_and_call

        await find_load_and_call(version, names, call, changed)
    else:
        await look_add_and_count(version, names, call)


async def look_add_and_count(version, names, call):
    """What every client does that is shown every tool."""
    tell("version", version)
    tell("tools", [name for name in await names() if name.startswith("note")])
    tell("read", dumped(await call("note_read", {"name": "monday"})))
    add = {"line": "Oiled."}
    tell("asked", dumped(await call("note_add", add)))
    wait()
    tell("added", dumped(await call("note_add", add)))
    tell("again", dumped(await call("note_add", add)))
    progress = []

    async def heard(done, total, message):
        progress.append([done, total, message])

    tell("counted", dumped(await call("note_count", {}, heard)))
    tell("progress", progress)
