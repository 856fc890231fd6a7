"""A model server that does what a test tells it to, and knows at once when it is left: for faults that no scenario has."""
import json
import socket
import socketserver
import threading
import time


def sse(event):
    return ("event: %s\ndata: %s\n\n" % (event["type"], json.dumps(event))).encode()


def response(status, output=(), text=None):
    """A response object; `text`: with one message."""
    if text is not None:
        output = [message(text)]
    return {"id": "resp_up", "object": "response", "created_at": 1790000000, "status": status, "model": "m", "output": list(output),
            "error": None, "incomplete_details": None, "instructions": None, "metadata": {}, "parallel_tool_calls": True,
            "temperature": 1.0, "tool_choice": "auto", "tools": [], "top_p": 1.0,
            "usage": {"input_tokens": 1, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 1,
                      "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 2}}


def message(text, id="msg_1"):
    return {"id": id, "type": "message", "role": "assistant", "status": "completed",
            "content": [{"type": "output_text", "text": text, "annotations": [], "logprobs": []}]}


def call(arguments, name="code_interpreter", id="fc_1", call_id="call_1"):
    return {"id": id, "type": "function_call", "status": "completed", "call_id": call_id, "name": name, "arguments": arguments}


def events_for(output):
    """The events of a whole response; deltas of 64 characters."""
    events = [{"type": "response.created", "response": response("in_progress")},
              {"type": "response.in_progress", "response": response("in_progress")}]
    for i, item in enumerate(output):
        at = {"output_index": i, "item_id": item["id"]}
        if item["type"] == "message":
            text = item["content"][0]["text"]
            part = dict(at, content_index=0)
            events.append({"type": "response.output_item.added", "output_index": i, "item": dict(item, status="in_progress", content=[])})
            events.append(dict(part, type="response.content_part.added", part=dict(item["content"][0], text="")))
            for k in range(0, len(text), 64):
                events.append(dict(part, type="response.output_text.delta", delta=text[k:k + 64], logprobs=[]))
            events.append(dict(part, type="response.output_text.done", text=text, logprobs=[]))
            events.append(dict(part, type="response.content_part.done", part=item["content"][0]))
        else:
            events.append({"type": "response.output_item.added", "output_index": i, "item": dict(item, status="in_progress", arguments="")})
            events.append(dict(at, type="response.function_call_arguments.delta", delta=item["arguments"]))
            events.append(dict(at, type="response.function_call_arguments.done", arguments=item["arguments"]))
        events.append({"type": "response.output_item.done", "output_index": i, "item": item})
    events.append({"type": "response.completed", "response": response("completed", output)})
    return number(events)


def number(events):
    for n, event in enumerate(events):
        event["sequence_number"] = n
    return events


class Exchange:
    """One request, for the behaviour that answers it."""

    def __init__(self, sock, body):
        self.sock, self.body = sock, body
        self.left_at = None  # when the other side was seen to have gone

    def send(self, data):
        self.sock.sendall(data)

    def head(self, status=200, type="text/event-stream", more=""):
        self.send(("HTTP/1.1 %d X\r\nContent-Type: %s\r\nConnection: close\r\n%s\r\n" % (status, type, more)).encode())

    def json(self, value, status=200, more=""):
        data = json.dumps(value).encode()
        self.head(status, "application/json", more + "Content-Length: %d\r\n" % len(data))
        self.send(data)

    def answer(self, output):
        """A whole answer, as the request wants it."""
        if self.body.get("stream"):
            self.head()
            self.send(b"".join(sse(e) for e in events_for(output)) + b"data: [DONE]\n\n")
        else:
            self.json(response("completed", output))

    def has_output(self):
        items = self.body.get("input")
        return isinstance(items, list) and bool(items) and items[-1].get("type") == "function_call_output"

    def wait_until_left(self, timeout=60):
        """True when the client closed its side."""
        self.sock.settimeout(timeout)
        try:
            while self.sock.recv(4096):
                pass
        except socket.timeout:
            return False
        except OSError:
            pass
        self.left_at = time.monotonic()
        return True


class Upstream:
    """`behaviours`: {model: function(exchange)}. Whatever a behaviour does, its connection is closed behind it."""

    def __init__(self, behaviours):
        upstream = self
        self.behaviours = behaviours
        self.lock = threading.Lock()
        self.active = 0
        self.total = 0
        self.left = []  # when exchanges were left
        self.last = None

        class Handler(socketserver.BaseRequestHandler):
            def handle(self):
                upstream._serve(self.request)

        class Listener(socketserver.ThreadingTCPServer):
            daemon_threads = True
            allow_reuse_address = True
            request_queue_size = 1024

        self.server = Listener(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True).start()

    def _serve(self, sock):
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        data = b""
        try:
            while b"\r\n\r\n" not in data:
                piece = sock.recv(65536)
                if not piece:
                    return
                data += piece
            head, _, body = data.partition(b"\r\n\r\n")
            length = next((int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")), 0)
            while len(body) < length:
                piece = sock.recv(65536)
                if not piece:
                    return
                body += piece
        except OSError:
            return
        request = json.loads(body) if body else {}
        exchange = Exchange(sock, request)
        with self.lock:
            self.active += 1
            self.total += 1
            self.last = exchange
        try:
            self.behaviours[request.get("model", "")](exchange)
        except OSError:
            exchange.left_at = exchange.left_at or time.monotonic()
        finally:
            with self.lock:
                self.active -= 1
                if exchange.left_at:
                    self.left.append(exchange.left_at)

    def stop(self):
        self.server.shutdown()
        self.server.server_close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
