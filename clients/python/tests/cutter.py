"""A TCP proxy that does to connections what networks do."""
import socket
import struct
import threading


class Cutter:
    """`down`: how many bytes from the server each connection lets through before it is reset, one entry a connection, then all.
    `up`: how many bytes of a request it takes before it stands still. One connection at a time."""

    def __init__(self, port, down=(), up=None):
        self.port, self.down, self.up = port, list(down), up
        self.cuts = self.taken = 0
        self.stalled = threading.Event()
        self.ended = threading.Event()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = "http://127.0.0.1:%d" % self.listener.getsockname()[1]
        self.thread = threading.Thread(target=self._serve)
        self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.listener.shutdown(socket.SHUT_RDWR)
        self.thread.join()
        self.listener.close()

    def _serve(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            with client, socket.create_connection(("127.0.0.1", self.port)) as server:
                upwards = threading.Thread(target=self._up, args=(client, server))
                upwards.start()
                self._down(client, server, self.down.pop(0) if self.down else None)
                for s in (client, server):
                    try:
                        s.shutdown(socket.SHUT_RDWR)
                    except OSError:
                        pass
                upwards.join()

    def _up(self, client, server):
        try:
            while True:
                data = client.recv(65536)
                if not data:
                    break
                server.sendall(data)
                self.taken += len(data)
                if self.up is not None and self.taken > self.up:
                    self.stalled.set()
                    self._wait_for_hangup(client)
                    break
        except OSError:
            pass
        try:
            server.shutdown(socket.SHUT_RDWR)  # the client has gone
        except OSError:
            pass

    def _wait_for_hangup(self, client):
        """Without taking what it sends: its buffers fill."""
        while not self.ended.wait(0.02):
            info = client.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)
            if info[0] != 1:  # not ESTABLISHED
                return

    def _down(self, client, server, limit):
        sent = 0
        try:
            while True:
                data = server.recv(65536)
                if not data:
                    return
                if limit is not None and sent + len(data) >= limit:
                    client.sendall(data[:limit - sent])
                    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    self.cuts += 1
                    return
                client.sendall(data)
                sent += len(data)
        except OSError:
            pass
