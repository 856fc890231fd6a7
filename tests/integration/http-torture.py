#!/usr/bin/env python3
"""The HTTP server over real sockets: everything a client can do wrong, slowly, in pieces, or all at once.

usage: http-torture.py HTTP-ECHO    (TAP; nothing but the standard library)"""
import http.client
import json
import os
import random
import shutil
import signal
import socket
import ssl
import stat
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

import gateway  # noqa: E402
from tap import Tap  # noqa: E402

PATIENCE = 20  # seconds until a thing that must happen counts as not happening
BODY_MAX = 1 << 20
tap = Tap()


class Server(gateway.Server):
    def __init__(self, *options):
        self.unix = options[options.index("--unix") + 1] if "--unix" in options else None
        self.tls = "--cert" in options
        self.start([sys.argv[1], "--body-max", str(BODY_MAX), *options])
        line = self.process.stdout.readline().split()
        if not line:
            raise SystemExit("http-echo did not start: status %s" % self.process.wait())
        self.port = int(line[1]) if len(line) > 1 else None

    def connect(self, receive_bytes=None):
        s = socket.socket(socket.AF_UNIX if self.unix else socket.AF_INET)
        if receive_bytes:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        s.settimeout(PATIENCE)
        s.connect(self.unix or ("127.0.0.1", self.port))
        if not self.unix:
            s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self.tls:
            context = ssl.create_default_context()
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
            s = context.wrap_socket(s)
        return s

    def counts(self):
        with self.connect() as s:
            s.sendall(get("/counts"))
            return json.loads(Reader(s).response().body)

    def until(self, condition):
        """None when the counts come to fulfil it; else the last ones."""
        end = time.monotonic() + PATIENCE
        while True:
            counts = self.counts()
            if condition(counts):
                return []
            if time.monotonic() > end:
                return [str(counts)]
            time.sleep(0.02)

    def is_sanitized(self):
        with open(sys.argv[1], "rb") as f:
            return b"__asan_init" in f.read()

    def rss(self):
        with open("/proc/%d/status" % self.process.pid) as f:
            return next(int(line.split()[1]) for line in f if line.startswith("VmRSS")) * 1024


class Response:
    def __init__(self, status, headers, body, is_cut):
        self.status, self.headers, self.body, self.is_cut = status, headers, body, is_cut

    def __repr__(self):
        return "%d %r %r%s" % (self.status, self.headers, self.body[:200], " cut" if self.is_cut else "")


class Reader:
    """Reads responses off a socket, as strictly as the server reads requests."""

    def __init__(self, s):
        self.s, self.data, self.end = s, b"", None

    def more(self):
        if self.end:
            return False
        try:
            piece = self.s.recv(65536)
        except socket.timeout:
            self.end = "silence"
        except (ConnectionError, ssl.SSLError) as e:
            self.end = "reset" if isinstance(e, ConnectionError) else repr(e)
        else:
            self.data += piece
            if not piece:
                self.end = "eof"
        return not self.end

    def take(self, n):
        while len(self.data) < n:
            if not self.more():
                return None
        taken, self.data = self.data[:n], self.data[n:]
        return taken

    def line(self):
        while b"\r\n" not in self.data:
            if not self.more():
                return None
        line, self.data = self.data.split(b"\r\n", 1)
        return line

    def response(self, head=False):
        """None at the end of the connection."""
        line = self.line()
        if line is None:
            return None
        version, status, _ = line.decode().split(" ", 2)
        assert version == "HTTP/1.1", line
        headers = {}
        while True:
            line = self.line()
            if not line:
                break
            name, value = line.decode().split(": ", 1)
            assert name.lower() not in headers, name
            headers[name.lower()] = value
        status, body, is_cut = int(status), b"", False
        if head or status in (204, 304) or status < 200:
            pass
        elif headers.get("transfer-encoding") == "chunked":
            body, is_cut = self.chunks()
        elif "content-length" in headers:
            body = self.take(int(headers["content-length"]))
            is_cut = body is None
            body = self.data if is_cut else body
        else:
            while self.more():
                pass
            body, self.data, is_cut = self.data, b"", self.end != "eof"
        return Response(status, headers, body, is_cut)

    def chunks(self):
        body = b""
        while True:
            size = self.line()
            piece = self.take(int(size, 16) + 2) if size else None
            if piece is None:
                return body, True
            assert piece.endswith(b"\r\n")
            if piece == b"\r\n":
                return body, False
            body += piece[:-2]

    def rest(self):
        """What follows, and how the connection ended."""
        while self.more():
            pass
        return self.data, self.end


def get(path, more="", method="GET"):
    return ("%s %s HTTP/1.1\r\nHost: x\r\n%s\r\n" % (method, path, more)).encode()


def post(path, body, more=""):
    return ("POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n%s\r\n" % (path, len(body), more)).encode() + body


def chunked(path, chunks, trailer=b"", extension=b""):
    body = b"".join(b"%x%s\r\n%s\r\n" % (len(c), extension, c) for c in chunks)
    return b"POST %s HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" % path.encode() + body + b"0\r\n" + trailer + b"\r\n"


def expect_one(server, data, status, body=None, closes=None, half_close=False, head=False):
    """Problems of: send data, get one response and, when closes, a clean end."""
    with server.connect() as s:
        s.sendall(data)
        if half_close:
            s.shutdown(socket.SHUT_WR)
        reader = Reader(s)
        r = reader.response(head)
        if r is None:
            return ["no response: %s" % reader.end]
        problems = []
        if r.status != status or r.is_cut:
            problems.append("expected %s, got %r" % (status, r))
        if body is not None and r.body != body:
            problems.append("expected the body %r, got %r" % (body, r.body[:300]))
        if closes and r.headers.get("connection") != "close":
            problems.append("no 'Connection: close' in %r" % r.headers)
        if closes:
            rest = reader.rest()
            if rest != (b"", "eof"):
                problems.append("expected a clean end, got %r" % (rest,))
        if closes is False:
            s.sendall(get("/echo?again"))
            again = reader.response()
            if again is None or again.body != b"GET /echo [again] ":
                problems.append("the connection was not usable again: %r %s" % (again, reader.end))
        return problems


# ---- what must be refused ----

HEAD = b"POST /echo HTTP/1.1\r\nHost: x\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
MALFORMED = [
    ("Content-Length with Transfer-Encoding", HEAD + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
    ("Transfer-Encoding with Content-Length", HEAD + b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n", 400),
    ("two Content-Length that differ", HEAD + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello", 400),
    ("two Content-Length that agree", HEAD + b"Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello", 400),
    ("a list in Content-Length", HEAD + b"Content-Length: 5, 5\r\n\r\nhello", 400),
    ("Content-Length with a sign", HEAD + b"Content-Length: +5\r\n\r\nhello", 400),
    ("a negative Content-Length", HEAD + b"Content-Length: -5\r\n\r\nhello", 400),
    ("Content-Length in hex", HEAD + b"Content-Length: 0x5\r\n\r\nhello", 400),
    ("Content-Length with a space inside", HEAD + b"Content-Length: 1 0\r\n\r\nhello", 400),
    ("an empty Content-Length", HEAD + b"Content-Length:\r\n\r\n", 400),
    ("a Content-Length beyond 64 bits", HEAD + b"Content-Length: 18446744073709551621\r\n\r\nhello", 400),
    ("space before the colon", HEAD + b"Content-Length : 5\r\n\r\nhello", 400),
    ("space before the colon of Transfer-Encoding", HEAD + b"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n", 400),
    ("Transfer-Encoding identity", HEAD + b"Transfer-Encoding: identity\r\n\r\n", 400),
    ("Transfer-Encoding with something before chunked", HEAD + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 400),
    ("Transfer-Encoding with something after chunked", HEAD + b"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n", 400),
    ("Transfer-Encoding almost chunked", HEAD + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", 400),
    ("Transfer-Encoding quoted", HEAD + b"Transfer-Encoding: \"chunked\"\r\n\r\n0\r\n\r\n", 400),
    ("Transfer-Encoding with a vertical tab", HEAD + b"Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n", 400),
    ("two Transfer-Encoding", HEAD + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
    ("Transfer-Encoding in HTTP/1.0", b"POST /echo HTTP/1.0\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
    ("a folded field", HEAD + b"A: b\r\n c\r\n\r\n", 400),
    ("a fold with a tab", HEAD + b"Transfer-Encoding:\r\n\tchunked\r\n\r\n0\r\n\r\n", 400),
    ("a fold right after the request line", b"GET /echo HTTP/1.1\r\n Host: x\r\n\r\n", 400),
    ("NUL in a value", HEAD + b"A: b\0c\r\n\r\n", 400),
    ("NUL in a name", HEAD + b"A\0: b\r\n\r\n", 400),
    ("NUL in the target", b"GET /ec\0ho HTTP/1.1\r\nHost: x\r\n\r\n", 400),
    ("a control character in a value", HEAD + b"A: \x01\r\n\r\n", 400),
    ("DEL in a value", HEAD + b"A: \x7f\r\n\r\n", 400),
    ("CR inside a line", HEAD + b"A: b\rContent-Length: 5\r\n\r\n", 400),
    ("bare LF at the request line", b"GET /echo HTTP/1.1\nHost: x\r\n\r\n", 400),
    ("bare LF after a field", HEAD + b"A: b\n\r\n", 400),
    ("bare LF as the empty line", b"GET /echo HTTP/1.1\r\nHost: x\r\n\n", 400),
    ("bare LF everywhere", b"GET /echo HTTP/1.1\nHost: x\n\n", 400),
    ("no Host", b"GET /echo HTTP/1.1\r\n\r\n", 400),
    ("two Host", b"GET /echo HTTP/1.1\r\nHost: x\r\nHost: x\r\n\r\n", 400),
    ("Host with userinfo", b"GET /echo HTTP/1.1\r\nHost: a@b\r\n\r\n", 400),
    ("Host with a path", b"GET /echo HTTP/1.1\r\nHost: a/b\r\n\r\n", 400),
    ("Host with a space", b"GET /echo HTTP/1.1\r\nHost: a b\r\n\r\n", 400),
    ("Host with a bad port", b"GET /echo HTTP/1.1\r\nHost: a:8x\r\n\r\n", 400),
    ("Host that differs from the target", b"GET http://a/echo HTTP/1.1\r\nHost: b\r\n\r\n", 400),
    ("another scheme", b"GET ftp://x/echo HTTP/1.1\r\nHost: x\r\n\r\n", 400),
    ("userinfo in the target", b"GET http://u@x/echo HTTP/1.1\r\nHost: x\r\n\r\n", 400),
    ("a fragment in the target", b"GET /echo#a HTTP/1.1\r\nHost: x\r\n\r\n", 400),
    ("a relative target", b"GET echo HTTP/1.1\r\nHost: x\r\n\r\n", 400),
    ("an asterisk for GET", b"GET * HTTP/1.1\r\nHost: x\r\n\r\n", 400),
    ("CONNECT", b"CONNECT x:80 HTTP/1.1\r\nHost: x:80\r\n\r\n", 400),
    ("raw UTF-8 in the target", "GET /é HTTP/1.1\r\nHost: x\r\n\r\n".encode(), 400),
    ("two spaces in the request line", b"GET  /echo HTTP/1.1\r\nHost: x\r\n\r\n", 400),
    ("a tab in the request line", b"GET\t/echo HTTP/1.1\r\nHost: x\r\n\r\n", 400),
    ("a space at the end of the request line", b"GET /echo HTTP/1.1 \r\nHost: x\r\n\r\n", 400),
    ("HTTP/0.9", b"GET /echo\r\n\r\n", 400),
    ("no method", b" /echo HTTP/1.1\r\nHost: x\r\n\r\n", 400),
    ("a method that is no token", b"G(T /echo HTTP/1.1\r\nHost: x\r\n\r\n", 400),
    ("a lower-case version", b"GET /echo http/1.1\r\nHost: x\r\n\r\n", 400),
    ("a long version", b"GET /echo HTTP/1.10\r\nHost: x\r\n\r\n", 400),
    ("HTTP/2.0", b"GET /echo HTTP/2.0\r\nHost: x\r\n\r\n", 505),
    ("the preface of HTTP/2", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
    ("a TLS hello", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400),
    ("junk without a line end", b"\x80\x81\x82", 400),
    ("two empty lines before the request", b"\r\n\r\n" + get("/echo"), 400),
    ("a line without a colon", HEAD + b"garbage\r\n\r\n", 400),
    ("an empty field name", HEAD + b": b\r\n\r\n", 400),
    ("a field name with a space", HEAD + b"Bad Name: b\r\n\r\n", 400),
    ("a field name with a slash", HEAD + b"a/b: b\r\n\r\n", 400),
    ("an unknown expectation", HEAD + b"Expect: 200-ok\r\n\r\n", 417),
    ("129 fields", get("/echo", "A: b\r\n" * 128), 431),
    ("5000 fields", get("/echo", "A: b\r\n" * 5000), 431),
    ("a field of 64 KiB", get("/echo", "A: %s\r\n" % ("b" * 65536)), 431),
    ("a field of 1 MiB", get("/echo", "A: %s\r\n" % ("b" * (1 << 20))), 431),
    ("a target of 100 KiB", get("/echo?" + "b" * 100000), 431),
    ("a chunk size that is no number", CHUNKED + b"zz\r\n", 400),
    ("an empty chunk size", CHUNKED + b"\r\nhello\r\n0\r\n\r\n", 400),
    ("a chunk size with 0x", CHUNKED + b"0x5\r\nhello\r\n0\r\n\r\n", 400),
    ("a chunk size with a sign", CHUNKED + b"+5\r\nhello\r\n0\r\n\r\n", 400),
    ("a negative chunk size", CHUNKED + b"-5\r\nhello\r\n0\r\n\r\n", 400),
    ("a chunk size beyond 64 bits", CHUNKED + b"10000000000000005\r\nhello\r\n0\r\n\r\n", 400),
    ("a chunk size with a space", CHUNKED + b"5 \r\nhello\r\n0\r\n\r\n", 400),
    ("a chunk size after a space", CHUNKED + b" 5\r\nhello\r\n0\r\n\r\n", 400),
    ("bare LF after a chunk size", CHUNKED + b"5\nhello\r\n0\r\n\r\n", 400),
    ("bare LF in a chunk extension", CHUNKED + b"5;a\nhello\r\n0\r\n\r\n", 400),
    ("bare CR in a chunk extension", CHUNKED + b"5;a\rb\r\nhello\r\n0\r\n\r\n", 400),
    ("NUL in a chunk extension", CHUNKED + b"5;\0\r\nhello\r\n0\r\n\r\n", 400),
    ("an endless chunk extension", CHUNKED + b"5;" + b"a" * 20000 + b"\r\nhello\r\n0\r\n\r\n", 400),
    ("many chunks that are mostly extension", CHUNKED + (b"1;" + b"a" * 100 + b"\r\nx\r\n") * 300 + b"0\r\n\r\n", 400),
    ("a chunk longer than its size", CHUNKED + b"5\r\nhelloXX0\r\n\r\n", 400),
    ("bare LF after a chunk", CHUNKED + b"5\r\nhello\n0\r\n\r\n", 400),
    ("a bad trailer", CHUNKED + b"0\r\ngarbage\r\n\r\n", 400),
    ("a folded trailer", CHUNKED + b"0\r\nA: b\r\n c\r\n\r\n", 400),
    ("a trailer with bare LF", CHUNKED + b"0\r\nA: b\n\r\n", 400),
    ("bare LF at the end of a chunked body", CHUNKED + b"0\r\n\n", 400),
    ("trailers of 16 KiB", CHUNKED + b"0\r\nA: " + b"b" * 16384 + b"\r\n\r\n", 400),
]


def malformed(server):
    for name, data, status in MALFORMED:
        # The second request must never be seen: not as a body, not as a request of its own.
        tap.check("refused: " + name, expect_one(server, data + get("/echo?smuggled"), status, closes=True))
    r = None
    with server.connect() as s:
        s.sendall(b"GET /echo HTTP/1.1\r\n\r\n")
        r = Reader(s).response()
    tap.ok(r and r.body == b'{"status":400,"message":"missing Host"}' and r.headers["content-type"] == "application/json",
           "a refusal has the body that the owner of the server wants", r)


# ---- what must be understood ----

def understood(server):
    for name, data, body, closes in [
        ("GET", get("/echo"), b"GET /echo [] ", False),
        ("a query", get("/echo?a=%20b&c"), b"GET /echo [a=%20b&c] ", False),
        ("a query with a question mark", get("/echo?a?b"), b"GET /echo [a?b] ", False),
        ("absolute form", b"GET http://x/echo?q HTTP/1.1\r\nHost: x\r\n\r\n", b"GET /echo [q] ", False),
        ("absolute form, another case", b"GET HTTP://EX.ample:80/echo HTTP/1.1\r\nHost: ex.AMPLE:80\r\n\r\n",
         b"GET /echo [] ", False),
        ("an IPv6 Host", b"GET /echo HTTP/1.1\r\nHost: [::1]:80\r\n\r\n", b"GET /echo [] ", False),
        ("an empty Host", b"GET /echo HTTP/1.1\r\nHost:\r\n\r\n", b"GET /echo [] ", False),
        ("one empty line before the request", b"\r\n" + get("/echo"), b"GET /echo [] ", False),
        ("names in any case", b"POST /echo HTTP/1.1\r\nhOST: x\r\nCONTENT-length:5\r\n\r\nhello", b"POST /echo [] hello", False),
        ("white space around values", b"POST /echo HTTP/1.1\r\nHost: \t x \t\r\nContent-Length:  5  \r\n\r\nhello",
         b"POST /echo [] hello", False),
        ("bytes above 127 in a value", get("/echo", "A: \u00e9\r\n"), b"GET /echo [] ", False),
        ("128 fields", get("/echo", "A: b\r\n" * 127), b"GET /echo [] ", False),
        ("a field of 60 KiB", get("/echo", "A: %s\r\n" % ("b" * 60000)), b"GET /echo [] ", False),
        ("a method nobody knows", get("/echo", method="BREW"), b"BREW /echo [] ", False),
        ("an empty body", post("/echo", b""), b"POST /echo [] ", False),
        ("Content-Length with zeros before", HEAD + b"Content-Length: 0005\r\n\r\nhello", b"POST /echo [] hello", False),
        ("chunks", chunked("/echo", [b"hel", b"lo"]), b"POST /echo [] hello", False),
        ("no chunk at all", chunked("/echo", []), b"POST /echo [] ", False),
        ("chunks with extensions and trailers", chunked("/echo", [b"hel", b"lo"], b"A: b\r\nC:\r\n", b";x=\"y\""),
         b"POST /echo [] hello", False),
        ("chunk sizes in upper case, with zeros before", CHUNKED + b"00A\r\n0123456789\r\n0\r\n\r\n",
         b"POST /echo [] 0123456789", False),
        ("Transfer-Encoding in any case", HEAD + b"transfer-encoding: CHUNKED\r\n\r\n1\r\nx\r\n0\r\n\r\n",
         b"POST /echo [] x", False),
        ("HTTP/1.0", b"GET /echo HTTP/1.0\r\n\r\n", b"GET /echo [] ", True),
        ("Connection: close", get("/echo", "Connection: close\r\n"), b"GET /echo [] ", True),
        ("Connection: close in a list", get("/echo", "Connection: foo, Close\r\n"), b"GET /echo [] ", True),
        ("an upgrade nobody wants", get("/echo", "Connection: upgrade\r\nUpgrade: h2c\r\n"), b"GET /echo [] ", False),
        ("a large body", post("/count", b"x" * BODY_MAX), b"%d" % BODY_MAX, False),
        ("a large body in chunks", chunked("/count", [b"x" * 10000] * 100), b"1000000", False),
        ("a body of tiny chunks", chunked("/count", [b"x"] * 20000), b"20000", False),
    ]:
        tap.check("understood: " + name, expect_one(server, data, 200, body, closes))
    tap.check("HTTP/1.0 with keep-alive is kept",
              expect_one(server, b"GET /echo HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", 200, b"GET /echo [] ", False))
    tap.check("a client that half-closes at once gets what needs no waiting",
              expect_one(server, post("/echo", b"hello"), 200, b"POST /echo [] hello", half_close=True))
    tap.check("OPTIONS *", expect_one(server, get("*", method="OPTIONS"), 404))
    tap.check("a handler that says nothing is a 500", expect_one(server, get("/nothing"), 500, closes=True))
    with server.connect() as s:
        s.sendall(get("/empty") + get("/echo"))
        reader = Reader(s)
        first, second = reader.response(), reader.response()
        tap.ok(first.status == 204 and "content-length" not in first.headers and second.body == b"GET /echo [] ",
               "204 has no length and no body", first, second)
        tap.ok(first.headers["date"].endswith(" GMT") and len(first.headers["date"]) == 29, "a date in the right form",
               first.headers)


def heads(server):
    with server.connect() as s:
        s.sendall(get("/echo", method="HEAD") + get("/events", method="HEAD") + get("/none", method="HEAD") + get("/echo?z"))
        reader = Reader(s)
        got = [reader.response(head=True) for _ in range(3)] + [reader.response()]
        tap.ok([r.status for r in got] == [200, 200, 404, 200] and got[0].headers["content-length"] == "14" and
               got[3].body == b"GET /echo [z] ", "HEAD: the length of the answer, no byte of its body", *got)
    tap.check("HEAD: an answer of the server's own has no body either",
              expect_one(server, post("/echo", b"").replace(b"POST", b"HEAD").replace(b": 0", b": 99999999"), 413, b"",
                         closes=True, head=True))


# ---- pieces ----

def pieces(server):
    requests = [(post("/echo?q", b"hello"), b"POST /echo [q] hello"),
                (chunked("/echo", [b"hello ", b"w", b"orld"], b"T: v\r\n", b";e"), b"POST /echo [] hello world")]
    for data, body in requests:
        kind = "chunks" if b"chunked" in data else "a length"
        problems = []
        with server.connect() as s:
            reader = Reader(s)
            for at in range(1, len(data)):
                s.sendall(data[:at])
                time.sleep(0.001)
                s.sendall(data[at:])
                r = reader.response()
                if r is None or r.status != 200 or r.body != body:
                    problems.append("cut at %d: %r %s" % (at, r, reader.end))
                    break
        tap.check("cut in two at each byte: " + kind, problems)
        with server.connect() as s:
            for at in range(len(data)):
                s.sendall(data[at:at + 1])
            r = Reader(s).response()
        tap.ok(r and r.body == body, "byte by byte: " + kind, r)


def pipelining(server):
    n = 2000
    with server.connect() as s:
        data = b"".join(post("/echo?%d" % i, b"b%d" % i) for i in range(n))
        s.sendall(get("/sleep?ms=300") + data)  # far more than is read while a handler runs
        reader = Reader(s)
        first = reader.response()
        got = [reader.response() for _ in range(n)]
        bad = [i for i, r in enumerate(got) if r is None or r.body != b"POST /echo [%d] b%d" % (i, i)]
        tap.ok(first.body == b"slept" and not bad, "%d pipelined requests are answered in order" % n, bad[:10], first)
    with server.connect() as s:
        s.sendall(get("/events?n=5") + get("/sleep?ms=1") + b"GET /echo\r\n\r\n" + get("/echo"))
        reader = Reader(s)
        got = [reader.response() for _ in range(3)]
        tap.ok([r.status for r in got] == [200, 200, 400] and reader.rest() == (b"", "eof"),
               "good requests before a bad one are answered first", *got)
    with server.connect() as s:
        s.sendall(get("/sleep?ms=200") + get("/echo?1"))
        s.sendall(get("/echo?2", "Connection: close\r\n") + get("/echo?3"))
        reader = Reader(s)
        got = [reader.response() for _ in range(3)]
        tap.ok(got[2].body == b"GET /echo [2] " and reader.rest() == (b"", "eof"), "nothing after Connection: close", *got)


def keep_alive(server):
    c = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
    bad, port = [], None
    for i in range(200):
        c.request("POST", "/echo", body=b"x%d" % i)
        r = c.getresponse()
        if r.read() != b"POST /echo [] x%d" % i:
            bad.append(i)
        port = port or c.sock.getsockname()[1]
        if c.sock is None or c.sock.getsockname()[1] != port:
            bad.append("reconnected at %d" % i)
            break
    c.close()
    tap.check("200 requests on one connection", bad)


def continue_100(server):
    head = HEAD + b"Content-Length: 5\r\nExpect: 100-continue\r\n\r\n"
    with server.connect() as s:
        s.sendall(head)
        reader = Reader(s)
        first = reader.response()
        s.sendall(b"hello")
        second = reader.response()
        tap.ok(first.status == 100 and second.body == b"POST /echo [] hello", "Expect: 100-continue", first, second)
    tap.check("a body that does not wait for 100 gets no 100",
              expect_one(server, head + b"hello", 200, b"POST /echo [] hello", False))
    tap.check("no 100 for a body that nobody wants",
              expect_one(server, head.replace(b"/echo", b"/no-read"), 401, closes=True))
    tap.check("no 100 for a body that is too large",
              expect_one(server, head.replace(b": 5", b": 5000000"), 413, closes=True))
    tap.check("Expect in HTTP/1.0 is ignored",
              expect_one(server, (head + b"hello").replace(b"1.1", b"1.0"), 200, b"POST /echo [] hello", True))


def too_large(server):
    n = 4 << 20
    for name, data in [
        ("by its length", post("/echo", b"x" * n)),
        ("in chunks", chunked("/echo", [b"x" * 65536] * (n // 65536))),
        ("for the handler, by its length", post("/echo?max=1000", b"x" * 500000)),
        ("for the handler, in chunks", chunked("/echo?max=1000", [b"x" * 1000] * 500)),
    ]:
        # The client writes everything before it reads: it must still see the answer.
        tap.check("413, and the answer arrives: " + name, expect_one(server, data, 413, closes=True))
    tap.check("413 before a byte of the body", expect_one(server, HEAD + b"Content-Length: %d\r\n\r\n" % n, 413, closes=None))
    tap.check("exactly the limit of the handler", expect_one(server, post("/echo?max=5", b"hello"), 200, closes=False))
    tap.check("an answer without reading a small body", expect_one(server, post("/no-read", b"x" * 100), 401, closes=False))
    tap.check("an answer without reading small chunks",
              expect_one(server, chunked("/no-read", [b"x"] * 10), 401, closes=False))
    tap.check("an answer without reading a body that has not come",
              expect_one(server, HEAD.replace(b"/echo", b"/no-read") + b"Content-Length: 1000\r\n\r\nx", 401, closes=True))


def streams(server):
    body = b"".join(b"data: %d\n\n" % i for i in range(5000))
    tap.check("a stream", expect_one(server, get("/events?n=5000"), 200, body, False))
    tap.check("a stream for HTTP/1.0 lasts until the close",
              expect_one(server, b"GET /events?n=5000 HTTP/1.0\r\n\r\n", 200, body, True))
    with server.connect() as s:
        s.sendall(get("/events?n=5&cut=2"))
        reader = Reader(s)
        r = reader.response()
        tap.ok(r.is_cut and r.body == b"data: 0\n\ndata: 1\n\n", "a stream without its end is seen to be cut", r)
    with server.connect() as s:
        s.sendall(b"GET /events?n=5&cut=2 HTTP/1.0\r\n\r\n")
        data, end = Reader(s).rest()
        tap.ok(end == "reset", "the same for HTTP/1.0: a reset, not an end", data, end)
    n = 4 << 20
    with server.connect(receive_bytes=65536) as s:
        s.sendall(get("/big?n=%d" % n) + get("/echo"))
        time.sleep(0.2)
        reader = Reader(s)
        r, again = reader.response(), reader.response()
        tap.ok(len(r.body) == n and not r.body.strip(b"x") and again.status == 200, "4 MiB to a slow reader, whole",
               len(r.body), again)


# ---- leaving ----

def drops(server):
    def run(name, data, leave):
        before = server.counts()["cancelled"]
        s = server.connect()
        s.sendall(data)
        problems = server.until(lambda c: c["waiting"] == 1)
        leave(s)
        problems += server.until(lambda c: c["waiting"] == 0 and c["cancelled"] == before + 1)
        s.close()
        problems += server.until(lambda c: c["connections"] == 1 and c["requests"] == 1)
        tap.check("the handler ends when the client leaves: " + name, problems)

    def reset(s):
        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        s.close()

    run("closed, nothing written yet", get("/wait"), socket.socket.close)
    run("closed, the response has begun", get("/wait?begin=1"), socket.socket.close)
    run("reset", get("/wait"), reset)
    run("half-closed", get("/wait"), lambda s: s.shutdown(socket.SHUT_WR))
    run("closed, with more pipelined than is read", get("/wait") + get("/echo") * 5000, socket.socket.close)
    run("closed, with its body unread", post("/wait", b"x" * 100000), socket.socket.close)
    run("closed while it takes nothing", get("/flood"), socket.socket.close)
    run("reset while it takes nothing", get("/flood"), reset)
    for name, data in [("in the head", b"GET /echo HT"), ("in the body", HEAD + b"Content-Length: 100\r\n\r\nhello"),
                       ("in a chunk", CHUNKED + b"50\r\nhello"), ("before a byte", b"")]:
        s = server.connect()
        s.sendall(data)
        time.sleep(0.05)
        s.close()
        tap.check("nothing is left of a client that leaves " + name,
                  server.until(lambda c: c["connections"] == 1 and c["requests"] == 1))


def slow_readers(server):
    n = 20
    server.counts()
    before = server.rss()
    sockets = []
    for _ in range(n):
        s = server.connect(receive_bytes=4096)
        s.sendall(get("/flood"))
        sockets.append(s)
    problems = server.until(lambda c: c["waiting"] == n)
    time.sleep(1)  # time to write, if somebody would
    grown = server.rss() - before
    for s in sockets:
        s.close()
    problems += server.until(lambda c: c["waiting"] == 0 and c["connections"] == 1)
    tap.note("%d KiB for each reader that stopped reading" % (grown // n // 1024))
    # An address sanitizer keeps what was freed and surrounds what was not: it is not our memory that would be measured.
    if grown > n << 20 and not server.is_sanitized():
        problems.append("grew by %d bytes" % grown)
    tap.check("%d readers that stop reading hold less than 1 MiB each" % n, problems)


def crowd(server):
    n = 500
    sockets = [server.connect() for _ in range(n)]
    for s in sockets:
        s.sendall(get("/wait?begin=1"))
    problems = server.until(lambda c: c["waiting"] == n and c["connections"] == n + 1)
    for s in sockets:
        s.close()
    problems += server.until(lambda c: c["waiting"] == 0 and c["connections"] == 1)
    tap.check("%d handlers at once, gone with their clients" % n, problems)
    sockets = [server.connect() for _ in range(n)]
    for i, s in enumerate(sockets):
        s.sendall(post("/echo", b"%d" % i))
    bad = [i for i, s in enumerate(sockets) if Reader(s).response().body != b"POST /echo [] %d" % i]
    for s in sockets:
        s.close()
    tap.check("%d connections, each with its own answer" % n, [str(bad[:10])] if bad else [])


def junk(server):
    rng = random.Random(9112)
    good = [get("/echo?a", "A: b\r\n"), post("/echo", b"hello"), chunked("/echo", [b"ab", b"c"], b"T: v\r\n")]
    problems = []
    for i in range(300):
        data = bytearray(rng.choice(good) * rng.randint(1, 3))
        for _ in range(rng.randint(1, 4)):
            at = rng.randrange(len(data))
            what = rng.random()
            if what < 0.4:
                data[at] = rng.randrange(256)
            elif what < 0.7:
                del data[at:at + rng.randint(1, 5)]
            else:
                data[at:at] = bytes(rng.choice(b"\r\n\0 :;0f") for _ in range(rng.randint(1, 3)))
            if not data:
                data = bytearray(b"x")
        with server.connect() as s:
            s.sendall(data)
            s.shutdown(socket.SHUT_WR)
            end = Reader(s).rest()[1]
            if end not in ("eof", "reset"):
                problems.append("%d: %s after %r" % (i, end, bytes(data)))
    problems += server.until(lambda c: c["connections"] == 1 and c["requests"] == 1)
    tap.check("300 damaged requests: each connection comes to an end", problems[:5])


# ---- deadlines, limits, the end ----

def deadlines():
    with Server("--head-ms", "600", "--body-ms", "600", "--keep-alive-ms", "900") as server:
        with server.connect() as s:
            # A line now and then: what counts is when the head began.
            s.sendall(b"GET /echo HTTP/1.1\r\nHost: x\r\n")
            s.settimeout(0.05)
            reader, end = Reader(s), time.monotonic() + PATIENCE
            while time.monotonic() < end and not reader.data:
                try:
                    s.sendall(b"A: b\r\n")
                except OSError:
                    break
                reader.more()
                reader.end = None
            s.settimeout(PATIENCE)
            r = reader.response()
            tap.ok(r and r.status == 408 and r.headers["connection"] == "close", "a slow head: 408", r, reader.end)
        for name, data in [("by its length", HEAD + b"Content-Length: 10\r\n\r\nhello"), ("in chunks", CHUNKED + b"50\r\nhello")]:
            tap.check("a slow body %s: 408" % name, expect_one(server, data, 408, closes=True))
        for name, data in [("a connection that says nothing", b""), ("an idle connection", get("/echo"))]:
            with server.connect() as s:
                s.sendall(data)
                reader = Reader(s)
                if data:
                    reader.response()
                tap.ok(reader.rest() == (b"", "eof"), "%s is closed without a word" % name, reader.data, reader.end)
        tap.check("a handler that takes longer than any deadline",
                  expect_one(server, get("/sleep?ms=1500"), 200, b"slept", False))


def limits():
    with Server("--connections", "4") as server:
        sockets = [server.connect() for _ in range(4)]
        for s in sockets:
            s.sendall(get("/echo"))
            Reader(s).response()
        tap.check("a connection too many: 503", expect_one(server, post("/echo", b"hello"), 503, closes=True))
        sockets.pop().close()
        problems = server.until(lambda c: c["connections"] == 4)
        tap.check("and there is room again when one has left", problems)
        more = [server.connect() for _ in range(150)]  # beyond those that are told so: they wait in the kernel's queue
        for s in more:
            s.sendall(get("/echo"))
        got = []
        for s in more:
            got.append(Reader(s).response().status)
            s.close()
        tap.ok(set(got) <= {200, 503}, "150 too many: each one gets an answer", sorted(set(got)))
        for s in sockets:
            s.close()


def stopping():
    server = Server("--stop-ms", "5000")
    idle, busy, piped = server.connect(), server.connect(), server.connect()
    idle.sendall(get("/echo"))
    idle_reader = Reader(idle)
    idle_reader.response()
    busy.sendall(get("/sleep?ms=700"))
    piped.sendall(get("/sleep?ms=700") + get("/echo"))
    problems = server.until(lambda c: c["requests"] == 3)
    server.process.send_signal(signal.SIGTERM)
    tap.ok(idle_reader.rest() == (b"", "eof"), "stop: an idle connection is closed", idle_reader.end)
    r = Reader(busy)
    got = r.response()
    tap.ok(got and got.body == b"slept" and got.headers["connection"] == "close" and r.rest()[1] == "eof",
           "stop: a request is finished, and told that it is the last", got)
    piped_reader = Reader(piped)
    got = piped_reader.response()
    tap.ok(got and got.body == b"slept" and piped_reader.rest() == (b"", "eof"), "stop: what was pipelined is not begun", got)
    tap.ok(server.stop() == 0 and not problems, "stop: the server ends by itself", *problems)
    try:
        socket.create_connection(("127.0.0.1", server.port), 1).close()
        refused = False
    except OSError:
        refused = True
    tap.ok(refused, "stop: nobody listens any more")

    server = Server("--stop-ms", "200")
    waits, begun, floods, half = (server.connect() for _ in range(4))
    waits.sendall(get("/wait"))
    begun.sendall(get("/wait?begin=1"))
    floods.sendall(get("/flood"))
    half.sendall(b"GET /echo HT")
    problems = server.until(lambda c: c["waiting"] == 3)
    status = server.stop()
    got = Reader(waits).response()
    tap.ok(got and got.status == 503, "past the deadline: a handler without a response is a 503", got)
    got = Reader(begun).response()
    tap.ok(got and got.is_cut, "past the deadline: a stream is cut", got)
    tap.ok(status == 0 and not problems, "past the deadline: the server ends, whoever does not read", status, *problems)
    for s in (idle, busy, piped, waits, begun, floods, half):
        s.close()


def unix_socket():
    folder = tempfile.mkdtemp(prefix="mf-http-")
    path = os.path.join(folder, "s")
    try:
        with Server("--unix", path) as server:
            st = os.stat(path)
            tap.ok(stat.S_ISSOCK(st.st_mode) and stat.S_IMODE(st.st_mode) == 0o600, "a Unix socket of mode 0600",
                   oct(st.st_mode))
            tap.check("requests over a Unix socket", expect_one(server, post("/echo", b"hello"), 200, b"POST /echo [] hello", False))
            s = server.connect()
            s.sendall(get("/wait"))
            problems = server.until(lambda c: c["waiting"] == 1)
            s.close()
            problems += server.until(lambda c: c["waiting"] == 0)
            tap.check("a client of a Unix socket that leaves", problems)
            second = subprocess.run([sys.argv[1], "--unix", path], stderr=subprocess.PIPE, stdout=subprocess.PIPE, timeout=PATIENCE)
            tap.ok(second.returncode == 1 and b"somebody listens" in second.stderr, "a live socket is not taken away",
                   second.stderr)
        tap.ok(not os.path.exists(path), "the socket's file is removed at the end")
        stale = socket.socket(socket.AF_UNIX)
        stale.bind(path)
        stale.close()
        with Server("--unix", path) as server:
            tap.check("a stale socket is replaced", expect_one(server, get("/echo"), 200))
            os.unlink(path)
            with open(path, "w") as f:
                f.write("mine")
        tap.ok(os.path.exists(path), "a file that took the socket's place is left alone")
        second = subprocess.run([sys.argv[1], "--unix", path], stderr=subprocess.PIPE, stdout=subprocess.PIPE, timeout=PATIENCE)
        tap.ok(second.returncode == 1 and b"not a socket" in second.stderr and os.path.exists(path),
               "a file that is no socket is left alone", second.stderr)
    finally:
        shutil.rmtree(folder)


def tls():
    if not shutil.which("openssl"):
        tap.skip("TLS", "the openssl command is not here to make a certificate")
        return
    folder = tempfile.mkdtemp(prefix="mf-http-")
    cert, key = os.path.join(folder, "cert.pem"), os.path.join(folder, "key.pem")
    try:
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                        "-subj", "/CN=localhost", "-keyout", key, "-out", cert], check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
        with Server("--cert", cert, "--key", key, "--head-ms", "3000") as server:
            tap.check("TLS: a request", expect_one(server, post("/echo", b"hello"), 200, b"POST /echo [] hello", False))
            tap.check("TLS: Connection: close", expect_one(server, get("/echo", "Connection: close\r\n"), 200, closes=True))
            tap.check("TLS: 1 MiB up", expect_one(server, post("/count", b"x" * BODY_MAX), 200, b"%d" % BODY_MAX, False))
            tap.check("TLS: 8 MiB down", expect_one(server, get("/big?n=8388608"), 200, b"x" * 8388608, False))
            tap.check("TLS: too large", expect_one(server, post("/echo", b"x" * (2 << 20)), 413, closes=True))
            tap.check("TLS: refused", expect_one(server, MALFORMED[0][1], 400, closes=True))
            with server.connect() as s:
                s.sendall(b"".join(post("/echo?%d" % i, b"x") for i in range(1000)))
                reader = Reader(s)
                got = [reader.response() for _ in range(1000)]
                tap.ok(all(r and r.body == b"POST /echo [%d] x" % i for i, r in enumerate(got)), "TLS: 1000 pipelined requests")
            for path in ("/wait", "/wait?begin=1", "/flood"):
                s = server.connect()
                s.sendall(get(path))
                problems = server.until(lambda c: c["waiting"] == 1)
                s.close()
                problems += server.until(lambda c: c["waiting"] == 0 and c["connections"] == 1)
                tap.check("TLS: the handler ends when the client leaves: " + path, problems)
            with socket.create_connection(("127.0.0.1", server.port), PATIENCE) as s:
                s.sendall(get("/echo"))
                data, end = Reader(s).rest()
                tap.ok(b"HTTP" not in data and end in ("eof", "reset"), "TLS: plain text is not answered", data, end)
            with socket.create_connection(("127.0.0.1", server.port), PATIENCE) as s:
                tap.ok(Reader(s).rest()[1] == "eof", "TLS: a handshake that never comes")
        bad = subprocess.run([sys.argv[1], "--cert", key, "--key", key], stderr=subprocess.PIPE, stdout=subprocess.PIPE, timeout=PATIENCE)
        tap.ok(bad.returncode == 1 and b"TLS certificate" in bad.stderr, "TLS: a bad certificate is said at the start", bad.stderr)
    finally:
        shutil.rmtree(folder)


def main():
    with Server() as server:
        for suite in (malformed, understood, heads, pieces, pipelining, keep_alive, continue_100, too_large, streams, drops,
                      slow_readers, crowd, junk):
            suite(server)
        tap.check("in the end nothing is left", server.until(lambda c: c["connections"] == 1 and c["requests"] == 1))
        tap.ok(server.stop() == 0, "and it ends well")
    for suite in (deadlines, limits, stopping, unix_socket, tls):
        suite()
    return tap.done()


sys.exit(main())
