"""The services that the shop's drivers talk to: two payment desks with one book, and the orders.

    SHOP_PAYMENTS_KEY=… SHOP_ORDERS_KEY=… python3 services/shop.py [--db FILE]

Payments listen on 127.0.0.1:8931 and 8932, orders on 127.0.0.1:8933; `--ports A,B,C` chooses others.
Needs Python 3.9 and nothing else. What is written is in the database before it is answered.
"""

import argparse
import hmac
import json
import os
import re
import sqlite3
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

CARDS = {"card-visa01": True, "card-master7": True, "card-empty0": False}

SCHEMA = """
CREATE TABLE IF NOT EXISTS moves (
    id TEXT PRIMARY KEY, kind TEXT NOT NULL, key TEXT UNIQUE, about TEXT NOT NULL, answer TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS orders (
    id TEXT PRIMARY KEY, state TEXT NOT NULL, before TEXT, total INTEGER NOT NULL, items TEXT NOT NULL);
"""

ORDERS = [
    ("ord-1001", "paid", 4900, [{"name": "walnut tray", "count": 1}]),
    ("ord-1002", "open", 1250, [{"name": "beeswax", "count": 2}]),
    ("ord-1003", "open", 7400, [{"name": "oak stool", "count": 1}]),
    ("ord-1004", "open", 1990, [{"name": "ash spoon", "count": 3}]),
    ("ord-1005", "shipped", 3300, [{"name": "cherry board", "count": 1}]),
]


class Book:
    """Everything that was done. One writer at a time."""

    def __init__(self, path):
        self.lock = threading.Lock()
        self.db = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        self.db.execute("PRAGMA synchronous = FULL")
        self.db.executescript(SCHEMA)
        if not self.db.execute("SELECT 1 FROM orders").fetchone():
            rows = [(id, state, total, json.dumps(items)) for id, state, total, items in ORDERS]
            self.db.executemany("INSERT INTO orders (id, state, total, items) VALUES (?, ?, ?, ?)", rows)

    def one(self, sql, *values):
        return self.db.execute(sql, values).fetchone()

    def move(self, kind, key, about, answer):
        """Writes a charge or a refund down, unless its key is known: then the first answer stands."""
        known = self.one("SELECT answer, about FROM moves WHERE key = ?", key) if key else None
        if known:
            return (409, {"error": "the key was used for something else"}) if known[1] != about else (200, json.loads(known[0]))
        prefix, first = {"charge": ("ch", 5001), "refund": ("re", 7001)}[kind]
        number = first + self.one("SELECT COUNT(*) FROM moves WHERE kind = ?", kind)[0]
        answer = {"id": f"{prefix}-{number}", **answer}
        self.db.execute("INSERT INTO moves VALUES (?, ?, ?, ?, ?)", (answer["id"], kind, key, about, json.dumps(answer)))
        return 201, answer


def charge(book, key, body, _):
    card, amount = body.get("card", body.get("source")), body.get("amount")
    order = body.get("order", body.get("reference"))
    if not isinstance(amount, int) or amount < 1 or not isinstance(order, str):
        return 400, {"error": "an order and an amount in cents are needed"}
    if card not in CARDS:
        return 404, {"error": "no card is saved under that name"}
    if not CARDS[card]:
        return 402, {"error": "the bank said no"}
    about = json.dumps(["charge", order, amount, body.get("currency"), card])
    return book.move("charge", key, about, {"state": "charged"})


def refund(book, key, body, path):
    charged = path["charge"]
    if not book.one("SELECT 1 FROM moves WHERE kind = 'charge' AND id = ?", charged):
        return 404, {"error": "there is no such charge"}
    about = json.dumps(["refund", charged])
    earlier = book.one("SELECT key FROM moves WHERE kind = 'refund' AND about = ?", about)
    if earlier and earlier[0] != key:
        return 409, {"error": "the charge was given back already"}
    return book.move("refund", key, about, {"state": "refunded"})


def status(book, _, query, __):
    known = book.one("SELECT id FROM moves WHERE key = ?", query.get("key", ""))
    return 200, {"state": "done", "id": known[0]} if known else {"state": "none"}


def order(book, _, __, path):
    found = book.one("SELECT id, state, total, items FROM orders WHERE id = ?", path["order"])
    if not found:
        return 404, {"error": "there is no such order"}
    return 200, {"order": found[0], "state": found[1], "total": found[2], "items": json.loads(found[3])}


def orders(book, _, query, __):
    limit, state = int(query.get("limit", 20)), query.get("state", "any")
    page = re.fullmatch(r"page-(\d+)", query.get("cursor", "")) or None
    page = int(page[1]) if page else 1
    wanted = "WHERE ? IN ('any', state) ORDER BY id DESC LIMIT ? OFFSET ?"
    rows = book.db.execute(f"SELECT id, state, total FROM orders {wanted}", (state, limit + 1, (page - 1) * limit)).fetchall()
    answer = {"orders": [dict(zip(("order", "state", "total"), row)) for row in rows[:limit]]}
    return 200, answer if len(rows) <= limit else {**answer, "next": f"page-{page + 1}"}


def cancel(book, _, __, path):
    found = book.one("SELECT state FROM orders WHERE id = ?", path["order"])
    if not found:
        return 404, {"error": "there is no such order"}
    if found[0] == "shipped":
        return 409, {"error": "it is on its way"}
    if found[0] != "canceled":
        book.db.execute("UPDATE orders SET before = state, state = 'canceled' WHERE id = ?", (path["order"],))
    return 200, {"order": path["order"], "state": "canceled"}


def restore(book, _, __, path):
    found = book.one("SELECT state, before FROM orders WHERE id = ?", path["order"])
    if not found:
        return 404, {"error": "there is no such order"}
    state = found[1] if found[0] == "canceled" else found[0]
    book.db.execute("UPDATE orders SET state = ? WHERE id = ?", (state, path["order"]))
    return 200, {"order": path["order"], "state": state}


def inside(name, action):
    """The same, with its answer under a name."""

    def wrapped(*given):
        code, answer = action(*given)
        return code, {name: answer} if code < 300 else answer

    return wrapped


PAYMENTS = [
    ("POST", r"/charges", charge),
    ("POST", r"/charges/(?P<charge>[\w-]+)/refund", refund),
    ("GET", r"/payments", status),
    ("POST", r"/v2/charges", inside("charge", charge)),
    ("GET", r"/v2/payments", inside("payment", status)),
]
BOOKED = [
    ("GET", r"/orders/(?P<order>[\w-]+)", order),
    ("GET", r"/orders", orders),
    ("POST", r"/orders/(?P<order>[\w-]+)/cancel", cancel),
    ("POST", r"/orders/(?P<order>[\w-]+)/restore", restore),
]


class Desk(BaseHTTPRequestHandler):
    """Answers for one list of routes."""

    protocol_version = "HTTP/1.1"
    book, routes, key = None, [], ""

    def do_GET(self):
        self.answered(self.handled("GET", {k: v[-1] for k, v in parse_qs(urlsplit(self.path).query).items()}))

    def do_POST(self):
        text = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        try:
            body = json.loads(text) if text else {}
        except ValueError:
            return self.answered((400, {"error": "the body is no JSON"}))
        return self.answered(self.handled("POST", body))

    def handled(self, method, given):
        path = urlsplit(self.path).path
        if path == "/health":
            return 200, {"state": "well"}
        sent = self.headers.get("Authorization", "").removeprefix("Bearer ")
        if not hmac.compare_digest(sent.encode(), self.key.encode()):
            return 401, {"error": "the key is not the right one"}
        for known, pattern, action in self.routes:
            match = re.fullmatch(pattern, path)
            if match and known == method:
                with self.book.lock:
                    return action(self.book, self.headers.get("Idempotency-Key"), given, match.groupdict())
        return 404, {"error": "there is nothing here"}

    def answered(self, result):
        code, answer = result
        text = json.dumps(answer).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, format, *values):
        print(f"{self.server.server_port} {format % values}", flush=True)


def main():
    parser = argparse.ArgumentParser(description="The services of the shop.")
    parser.add_argument("--db", default=":memory:", help="where to keep the book; in memory unless named")
    parser.add_argument("--ports", default="8931,8932,8933", help="payments, payments, orders")
    chosen = parser.parse_args()
    keys = [os.environ.get(name) for name in ("SHOP_PAYMENTS_KEY", "SHOP_ORDERS_KEY")]
    if not all(keys):
        parser.error("set SHOP_PAYMENTS_KEY and SHOP_ORDERS_KEY to the keys that callers have to send")
    book = Book(chosen.db)
    ports = [int(port) for port in chosen.ports.split(",")]
    desks = zip(ports, (PAYMENTS, PAYMENTS, BOOKED), (keys[0], keys[0], keys[1]))
    servers = []
    for port, routes, key in desks:
        desk = type("Desk", (Desk,), {"book": book, "routes": routes, "key": key})
        servers.append(ThreadingHTTPServer(("127.0.0.1", port), desk))
    for server in servers[1:]:
        threading.Thread(target=server.serve_forever, daemon=True).start()
    print("payments and orders on", ", ".join(f"127.0.0.1:{s.server_port}" for s in servers), flush=True)
    try:
        servers[0].serve_forever()
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
