"""A server of the task API that answers what a test wants, over TCP or a Unix socket: for clients, and for what no honest
server says."""
import http.server
import json
import os
import socketserver
import threading


class FakeServer:
    """`answers`: {"GET /v1/tasks/x": answer}; an answer is (status, body) or (status, body, headers) or a list of them, one
    for each time it is asked (the last stays). A body is bytes, or anything as JSON. A function gets the handler."""

    def __init__(self, answers, unix_path=None):
        self.answers = answers
        self.asked = []  # (method, path, headers in lower case, body)
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                outer.asked.append((self.command, self.path, {k.lower(): v for k, v in self.headers.items()}, body))
                answer = outer.answers.get("%s %s" % (self.command, self.path)) or \
                    outer.answers.get("%s %s" % (self.command, self.path.split("?")[0]))
                if isinstance(answer, list):
                    answer = answer.pop(0) if len(answer) > 1 else answer[0]
                if callable(answer):
                    answer(self)
                    return
                status, data, headers = (*(answer or (404, {"error": {"message": "not here"}})), {})[:3]
                data = data if isinstance(data, bytes) else json.dumps(data).encode()
                self.send_response(status)
                for name, value in {"Content-Type": "application/json", "Content-Length": str(len(data)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST = do_DELETE = do_HEAD = do

            def address_string(self):
                return "client"

            def log_message(self, *_):
                pass

        class Quiet:
            daemon_threads = True

            def handle_error(self, *_):
                """Clients may leave."""

        class Tcp(Quiet, socketserver.ThreadingTCPServer):
            allow_reuse_address = True

        class Unix(Quiet, socketserver.ThreadingUnixStreamServer):
            pass

        self.server = Unix(unix_path, Handler) if unix_path else Tcp(("127.0.0.1", 0), Handler)
        if unix_path:
            os.chmod(unix_path, 0o600)
            self.url = "unix:" + unix_path
        else:
            self.url = "http://127.0.0.1:%d" % self.server.server_address[1]
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True)
        self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


def events(*pairs):
    """Server-sent events of (type, data)."""
    return b"".join(b"id: %d\nevent: %s\ndata: %s\n\n" % (i, kind.encode(), json.dumps(data).encode())
                    for i, (kind, data) in enumerate(pairs))
