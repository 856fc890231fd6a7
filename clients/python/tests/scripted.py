"""A server that does what a test says: one entry of the script for each connection."""
import re
import socket
import threading


class Scripted:
    """An entry: bytes (read the request, answer, close) or a function of (connection, reader) that does everything itself.
    `requests`: (head, body) of each request that was read. The client's address is `url`."""

    def __init__(self, *script, unix_path=None, tls=None):
        self.script, self.tls = list(script), tls
        self.requests = []
        self.listener = socket.socket(socket.AF_UNIX if unix_path else socket.AF_INET)
        self.listener.bind(unix_path or ("127.0.0.1", 0))
        self.listener.listen()
        place = "//127.0.0.1:%d" % self.listener.getsockname()[1] if not unix_path else "//" + unix_path
        self.url = ("unix:" if unix_path else "https:" if tls else "http:") + place
        self.thread = threading.Thread(target=self._serve)
        self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        # What was not asked for is no more waited for.
        self.listener.shutdown(socket.SHUT_RDWR)
        self.thread.join()
        self.listener.close()

    def _serve(self):
        for entry in self.script:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            connection.settimeout(60)
            try:
                connection = self.tls.wrap_socket(connection, server_side=True) if self.tls else connection
            except OSError:
                connection.close()
                continue
            with connection, connection.makefile("rb") as reader:
                try:
                    if callable(entry):
                        entry(connection, reader)
                    else:
                        self.read(reader)
                        connection.sendall(entry)
                except OSError:
                    pass

    def read(self, reader):
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            line = reader.readline()
            if not line:
                return
            head += line
        length = re.search(rb"\r\nContent-Length: (\d+)\r\n", head)
        self.requests.append((head.decode("ascii"), reader.read(int(length[1]) if length else 0)))


def answer(body=b"{}", status=200, headers=(), kind="application/json"):
    lines = ["HTTP/1.1 %d Whatever" % status, "Content-Type: " + kind, "Content-Length: %d" % len(body), *headers]
    return "\r\n".join([*lines, "", ""]).encode() + body


def stream(*events, end=True):
    """Chunked; without its end it is a cut one."""
    out = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r\n"
    out += b"".join(b"%x\r\n%s\r\n" % (len(e), e) for e in events)
    return out + (b"0\r\n\r\n" if end else b"")
