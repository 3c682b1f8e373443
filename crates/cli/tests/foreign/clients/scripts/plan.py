"""The model of every agent: it reads the note that is listed first, writes, and writes again once a
person has been asked. Where it is shown no such tools, it searches and loads them first. What it calls
next depends on what it heard."""

import json

from talk import SERVER, tell, wait

NOTES = ["note_list", "note_read", "note_add"]


def value(heard):
    """What a tool says, however the agent hands a result on."""
    return json.loads(heard) if isinstance(heard, str) else heard


def text(heard):
    return value(heard)["text"]


def found(heard):
    """Names of what a search found."""
    return [match["name"] for match in value(heard)["match_details"]]


def move(tools, heard):
    """The next call as a name and an input, or else what the agent says at last."""
    if not heard:
        tell("tools", sorted(name for name in tools if name.startswith(("note", "tool", "call"))))
    if SERVER["shown"] == "all":
        return task(heard, lambda name, given: (name, given))
    if not heard:
        return "tool_search", {"query": "list, read and add notes"}
    if len(heard) == 1:
        tell("found", sorted(set(found(heard[0])) & set(NOTES)))
        return "tool_load", {"names": found(heard[0])}
    ways = {done["tool"]["name"]: done["call_with"] for done in value(heard[1])["loaded"]}

    def by_ours(name, given):
        return ways[name], {"name": name, "arguments": given}

    return task(heard[2:], by_ours)


def task(heard, call):
    """What is to be done, as soon as there are tools for it."""
    if not heard:
        return call("note_list", {})
    if len(heard) == 1:
        return call("note_read", {"name": text(heard[0]).split()[0]})
    if len(heard) == 3:
        tell("asked", heard[2])
        wait()
    if len(heard) < 4:
        return call("note_add", {"line": "Oiled."})
    return None, f"{text(heard[1]).strip()} {text(heard[3]).strip()}"
