"""A package whose functions do everything that functions do, good and bad."""

import asyncio
import os
import random
import sys

__version__ = "1.2.0"
token = str(random.random())
closed = 0
made = 0

print("loaded, and says so")


def who():
    return token


def add(a, b):
    return a + b


def join(*words):
    return " ".join(words)


def nothing():
    return None


def nested(whole):
    return {"data": [{"url": f"u{whole['n']}"}]}


class tools:
    class deep:
        @staticmethod
        def twice(n):
            return n * 2


def noisy():
    print('{"id":0,"said":"done","value":1}')
    sys.stdout.write("no newline")
    os.write(1, b'{"said":"found"}\n')
    sys.stdin.read()
    return "heard"


async def slow(ms):
    await asyncio.sleep(ms / 1000)
    return {"token": token}


async def count(n, ms=0):
    global closed
    try:
        for at in range(n):
            await asyncio.sleep(ms / 1000)
            yield {"at": at}
    finally:
        closed += 1


def lines():
    yield "one"
    yield "two"


def closings():
    return closed


async def backwards(words, part):
    for word in words:
        part(word)


class Refused(TypeError):
    pass


def fail(how):
    if how == "refused":
        raise Refused("no\nmore  than one line")
    raise ValueError("out of range")


def exit():
    os._exit(3)


def mark():
    try:
        with open("notes/log", "a") as log:
            log.write("begun\n")
    except OSError:
        pass


def hang():
    mark()
    while True:
        pass


async def dangle():
    mark()
    while True:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            pass


def bomb():
    every = []
    while True:
        every.append(bytearray(1 << 24))


def flood(bytes):
    return "x" * bytes


def drip():
    while True:
        yield "x" * 1_000_000


def odd():
    return {"big": object()}


def nan():
    return {"n": float("nan")}


def deep():
    value = 1
    for _ in range(400):
        value = [value]
    return value


def broken():
    return "\ud800"


def lie():
    for file in range(3, 64):
        try:
            os.write(file, b"nonsense\n")
        except OSError:
            pass
    return "honest"


async def note(text, ms=0):
    with open("notes/log", "a") as log:
        log.write(text + "\n")
    await asyncio.sleep(ms / 1000)
    return {"noted": text}


def variable(name):
    return os.environ.get(name)


class LoginOver(Exception):
    pass


class Client:
    def __init__(self, key=None):
        global made
        if key == "expired":
            raise LoginOver("log in again")
        made += 1
        self.key, self.number = key, made
        self.messages = Messages(self)

    @classmethod
    def make(cls):
        return "made without one"


class Messages:
    def __init__(self, client):
        self.client = client

    def create(self, text):
        return f"{self.client.key} says {text} ({self.client.number})"
