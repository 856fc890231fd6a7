"""One request to a server, and its reply."""
import http.client

PATIENCE = 60  # seconds until a reply that must come counts as not coming


class Reply:
    """headers: an http.client.HTTPMessage; body: bytes."""

    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    def text(self):
        return self.body.decode()

    def is_stream(self):
        return self.headers.get("content-type", "").startswith("text/event-stream")


def ask(port, method, path, body=None, headers=()):
    """body: bytes, sent as they are."""
    c = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    try:
        try:
            c.request(method, path, body, dict(headers))
        except (BrokenPipeError, ConnectionResetError):
            pass  # a body that is too large: the answer comes before all of it was sent
        r = c.getresponse()
        return Reply(r.status, r.headers, r.read())
    finally:
        c.close()
