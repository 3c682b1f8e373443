"""The worker of drivers of kind sdk, for Python: a process that calls the functions of one package.

It hears and says one JSON value a line. The lines run over copies of the pipes that it was started
with, so that whatever the package prints or reads is not taken for one of them.

The first thread loads the package and calls functions, one after the other, as they expect. What they
leave to be awaited runs side by side in a second one, and a third hears what is asked.
"""

import sys

# A file of the workspace must not be taken for a module of Python's own.
sys.path[:] = [place for place in sys.path if place]

import asyncio
import collections.abc
import dataclasses
import importlib
import importlib.metadata
import importlib.util
import inspect
import json
import os
import pathlib
import queue
import re
import threading
import types

heard = os.fdopen(os.dup(0), "rb")
spoken = os.dup(1)
os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
os.dup2(2, 1)
sys.stdout = sys.stderr

LONGEST_MESSAGE = 300

one_at_a_time = threading.Lock()
jobs = queue.SimpleQueue()
loop = asyncio.new_event_loop()
calls = {}
clients = {}
wanted = {}
loaded = []


class Unresolved(Exception):
    pass


class Call:
    def __init__(self, function):
        self.function = function
        self.begun = False
        self.canceled = False
        self.task = None


def say(word):
    write(json.dumps(word))


def write(text):
    rest = memoryview(text.encode() + b"\n")
    with one_at_a_time:
        while rest:
            rest = rest[os.write(spoken, rest) :]


def say_value(number, said, value):
    """Says a value of the package's, unless it is none that can be said. Tells whether it was."""
    word = {"id": number, "said": said, "value": value}
    try:
        text = json.dumps(word, default=plain, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as fault:
        say({"id": number, "said": "unfit", "why": one_line(fault)})
        return False
    fits = len(text) <= wanted["most"]
    if fits:
        write(text)
    else:
        say({"id": number, "said": "too_large"})
    return fits


def plain(value):
    """What others write a value as, where there is one way to do it."""
    if isinstance(value, type):
        raise TypeError(f"it holds the class {value.__name__}")
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    if dataclasses.is_dataclass(value):
        return dataclasses.asdict(value)
    for name in ("to_dict", "isoformat"):
        if callable(getattr(value, name, None)):
            return getattr(value, name)()
    if type(value).__name__ in ("Decimal", "UUID") or isinstance(value, pathlib.PurePath):
        return str(value)
    raise TypeError(f"it holds a {type(value).__name__}")


def failed(number, fault):
    calls.pop(number, None)
    kinds = [kind.__name__ for kind in type(fault).__mro__ if kind not in (BaseException, object)]
    say({"id": number, "said": "failed", "types": kinds, "message": one_line(fault)})


def one_line(fault):
    return " ".join(str(fault).split())[:LONGEST_MESSAGE]


def load(message):
    wanted.update(message)
    say({"id": message["id"], "said": "loaded", **installed()})


def installed():
    """Whether the package is there, and its version, before any of its code runs."""
    try:
        return {"there": True, "version": importlib.metadata.version(wanted["package"])}
    except importlib.metadata.PackageNotFoundError:
        pass
    place = pathlib.Path(wanted["path"] or wanted["module"].replace(".", "/"))
    files = [place / "__init__.py", place.with_suffix(".py"), place]
    file = next((file for file in files if file.is_file()), None)
    if not wanted["local"] or file is None:
        return {"there": False, "version": None}
    found = re.search(r"^__version__\s*=\s*['\"]([^'\"]+)", file.read_text(), re.MULTILINE)
    return {"there": True, "version": found and found.group(1)}


def module():
    if not loaded:
        loaded.append(imported())
    return loaded[0]


def imported():
    if not wanted["path"]:
        if wanted["local"]:
            sys.path.append(os.getcwd())
        return importlib.import_module(wanted["module"])
    place = pathlib.Path(wanted["path"]).resolve()
    sys.path.append(str(place.parent))
    if place.is_dir():
        return importlib.import_module(place.name)
    spec = importlib.util.spec_from_file_location(place.stem, place)
    found = importlib.util.module_from_spec(spec)
    sys.modules[place.stem] = found
    spec.loader.exec_module(found)
    return found


def find(message):
    found = walked(message["function"], message["client"])
    calls[message["id"]] = Call(found)
    say({"id": message["id"], "said": "found"})


def walked(ref, options):
    """Walks from the package to a function, making a client where the way leads through a class."""
    value = module()
    for name in ref.split("."):
        if inspect.isclass(value) and not is_static(value, name):
            value = client(value, options)
        value = member(value, name, ref)
    if not callable(value):
        raise Unresolved(f"`{ref}` is not in the package: it is no function")
    return value


def member(value, name, ref):
    if hasattr(value, name):
        return getattr(value, name)
    if isinstance(value, types.ModuleType):
        whole = f"{value.__name__}.{name}"
        try:
            return importlib.import_module(whole)
        except ModuleNotFoundError as fault:
            if fault.name != whole:
                raise
    raise Unresolved(f"`{ref}` is not in the package: there is no `{name}`")


def is_static(value, name):
    return isinstance(inspect.getattr_static(value, name, None), (staticmethod, classmethod))


def client(kind, options):
    text = json.dumps(options, sort_keys=True)
    kept = clients.get(kind)
    if kept is None or kept[0] != text:
        given, named = arranged(kind, options)
        kept = clients[kind] = (text, kind(*given, **named))
    return kept[1]


def arranged(function, given):
    """Arguments by their names where the function has those, and as one dictionary where not."""
    if "list" in given:
        return given["list"], {}
    named = given["object"]
    try:
        inspect.signature(function).bind(**named)
    except ValueError:
        pass
    except TypeError as fault:
        try:
            inspect.signature(function).bind(named)
        except TypeError:
            raise fault from None
        return [named], {}
    return [], named


def traced(trace):
    """A function that reads the trace reads that of its own call."""
    for name in ("TRACEPARENT", "TRACESTATE"):
        if name in trace:
            os.environ[name] = trace[name]
        else:
            os.environ.pop(name, None)


def call(message):
    number = message["id"]
    under_way = calls.get(number)
    if under_way is None:
        say({"id": number, "said": "canceled"})
        return
    given, named = arranged(under_way.function, message["args"])
    if message["callback"]:
        part = lambda item: say_value(number, "part", item) and None
        given, named = (given, {**named, "callback": part}) if named else ([*given, part], {})
    under_way.begun = True
    say({"id": number, "said": "begun"})
    traced(message["trace"])
    outcome = under_way.function(*given, **named)
    if inspect.isawaitable(outcome) or hasattr(outcome, "__aiter__"):
        loop.call_soon_threadsafe(begin, number, under_way, outcome)
    else:
        finish(number, under_way, outcome)


def finish(number, under_way, outcome):
    if isinstance(outcome, collections.abc.Iterator):
        iterate(number, under_way, outcome)
    else:
        say_value(number, "done", outcome)
    calls.pop(number, None)


def iterate(number, under_way, items):
    try:
        for item in items:
            if under_way.canceled:
                return say({"id": number, "said": "canceled"})
            if not say_value(number, "part", item):
                return None
    finally:
        getattr(items, "close", lambda: None)()
    return say({"id": number, "said": "ended"})


def begin(number, under_way, outcome):
    under_way.task = loop.create_task(awaited(number, under_way, outcome))
    if under_way.canceled:
        under_way.task.cancel()


async def awaited(number, under_way, outcome):
    try:
        if inspect.isawaitable(outcome):
            outcome = await outcome
        if hasattr(outcome, "__aiter__"):
            await iterate_async(number, outcome)
            calls.pop(number, None)
        else:
            finish(number, under_way, outcome)
    except asyncio.CancelledError:
        calls.pop(number, None)
        say({"id": number, "said": "canceled"})
    except BaseException as fault:
        failed(number, fault)


async def iterate_async(number, items):
    items = items.__aiter__()
    try:
        async for item in items:
            if not say_value(number, "part", item):
                return
    finally:
        if hasattr(items, "aclose"):
            await items.aclose()
    say({"id": number, "said": "ended"})


def cancel(number):
    under_way = calls.get(number)
    if under_way is None or not under_way.begun:
        calls.pop(number, None)
        return
    under_way.canceled = True
    if under_way.task is not None:
        under_way.task.cancel()


def hear():
    for line in heard:
        message = json.loads(line)
        if message["ask"] == "cancel":
            loop.call_soon_threadsafe(cancel, message["id"])
        else:
            jobs.put(message)
    os._exit(0)


asked = {"load": load, "find": find, "call": call}
threading.Thread(target=loop.run_forever, daemon=True).start()
threading.Thread(target=hear, daemon=True).start()
while True:
    job = jobs.get()
    try:
        asked[job["ask"]](job)
    except BaseException as fault:
        failed(job.get("id"), fault)
