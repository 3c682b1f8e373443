"""The model of every agent: it lists, reads what is listed first, writes, and writes again once a
person has been asked. What it calls next depends on what it heard."""

import json

from talk import tell, wait


def text(heard):
    """The text of a note, however the agent hands a result on."""
    return (json.loads(heard) if isinstance(heard, str) else heard)["text"]


def move(tools, heard):
    """The next call as a name and an input, or else what the agent says at last."""
    if not heard:
        tell("tools", sorted(name for name in tools if name.startswith("note")))
        return "note.list", {}
    if len(heard) == 1:
        return "note.read", {"name": text(heard[0]).split()[0]}
    if len(heard) == 3:
        tell("asked", heard[2])
        wait()
    if len(heard) < 4:
        return "note.add", {"line": "Oiled."}
    return None, f"{text(heard[1]).strip()} {text(heard[3]).strip()}"
