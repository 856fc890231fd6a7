"""What the escape suite plants outside for the attempts to find: files, a secret, processes, listeners."""
import hashlib
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading

import places


class Planted:
    def __init__(self):
        self.secret = "mf-secret-" + secrets.token_hex(16)
        self.name = "mf-canary-" + secrets.token_hex(8)
        self.folders, self.paths, self.sockets, self.hits = [], [], [], []
        for place in (tempfile.gettempdir(), os.path.expanduser("~"), places.BUILD, "/dev/shm"):
            try:
                folder = tempfile.mkdtemp(prefix="mf-escape-", dir=place)
            except OSError:
                continue
            os.chmod(folder, 0o755)
            self.folders.append(folder)
            path = os.path.join(folder, self.name)
            with open(path, "w") as f:
                f.write(self.secret)
            os.chmod(path, 0o666)
            self.paths.append(path)
        self.inherited = os.open(self.paths[0], os.O_RDONLY)
        self.inherited_folder = os.open("/", os.O_RDONLY | os.O_DIRECTORY)
        # A process with the secret in its command line and environment, in a group of its own.
        self.victim = subprocess.Popen(
            [sys.executable, "-c", "import signal, sys\nprint(1, flush=True)\nwhile True:\n    signal.pause()", self.secret],
            env={"MF_SECRET": self.secret}, stdout=subprocess.PIPE, start_new_session=True)
        self.victim.stdout.read(1)
        self.tcp, self.udp = [], []
        for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
            try:
                self._listen(socket.socket(family, socket.SOCK_STREAM), (host, 0), self.tcp)
                self._listen(socket.socket(family, socket.SOCK_DGRAM), (host, 0), self.udp)
            except OSError:
                continue
        self.unix = []
        self.abstract = "mf-" + secrets.token_hex(8)
        stream = os.path.join(self.folders[0], "stream.sock")
        datagram = os.path.join(self.folders[0], "datagram.sock")
        for kind, address in ((socket.SOCK_STREAM, stream), (socket.SOCK_DGRAM, datagram),
                              (socket.SOCK_STREAM, "\0" + self.abstract),
                              (socket.SOCK_DGRAM, "\0" + self.abstract + "-datagram")):
            self._listen(socket.socket(socket.AF_UNIX, kind), address, [])
        for path in (stream, datagram):
            os.chmod(path, 0o777)
            self.unix.append(path)

    def _listen(self, s, address, found):
        s.bind(address)
        self.sockets.append(s)
        if s.family != socket.AF_UNIX:
            found.append(list(s.getsockname()[:2]))

        def watch():
            try:
                if s.type == socket.SOCK_STREAM:
                    s.listen()
                    while True:
                        s.accept()[0].close()
                        self.hits.append("a connection to %r" % (address,))
                while True:
                    s.recvfrom(4096)
                    self.hits.append("a datagram to %r" % (address,))
            except OSError:
                return

        threading.Thread(target=watch, daemon=True).start()

    def facts(self, pids):
        """What the attempts are told; the secret and the canary's content only as digests."""
        digests = []
        for path in ("/etc/shadow", "/root/.bashrc", "/root/.ssh/id_rsa", "/var/log/syslog", "/etc/machine-id",
                     "/run/utmp"):
            try:
                with open(path, "rb") as f:
                    digests.append(hashlib.sha256(f.read()).hexdigest())
            except OSError:
                continue
        return {
            "secretSha256": hashlib.sha256(self.secret.encode()).hexdigest(),
            "nameSha256": hashlib.sha256(self.name.encode()).hexdigest(),
            "files": self.paths, "hostDigests": digests, "tcp": self.tcp, "udp": self.udp, "unixPaths": self.unix,
            "abstract": [self.abstract], "hello": "hello", "hostname": socket.gethostname(),
            "pids": [self.victim.pid, *pids], "groups": [self.victim.pid, os.getpgrp()],
        }

    def problems(self):
        """What was reached from inside."""
        found = ["reached from inside: " + hit for hit in self.hits]
        if self.victim.poll() is not None:
            found.append("the planted process was killed")
        else:
            with open("/proc/%d/stat" % self.victim.pid) as f:
                if f.read().rpartition(")")[2].split()[0] in "Tt":
                    found.append("the planted process was stopped")
        for path in self.paths:
            with open(path) as f:
                if f.read() != self.secret:
                    found.append("%s was changed" % path)
        return found

    def close(self):
        for s in self.sockets:
            s.close()
        os.close(self.inherited)
        os.close(self.inherited_folder)
        self.victim.send_signal(signal.SIGKILL)
        self.victim.wait()
        self.victim.stdout.close()
        for folder in self.folders:
            shutil.rmtree(folder, ignore_errors=True)
