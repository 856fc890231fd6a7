"""What is measured: one row for each way to run each job, and the program that carries it out."""
import fnmatch
import json
import os
import shutil
import subprocess

from .worker import Worker, WorkerError, WorkerGone

BENCH = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
JOBS = {name: os.path.join(BENCH, "jobs", name + ".py") for name in ("print", "import", "group-by")}
POOL = 2  # idle sandboxes of each runtime: the provider's default


def job_source(name):
    with open(JOBS[name], encoding="utf-8") as f:
        return f.read()


class Variant:
    """id: WAY.JOB; once: the worker's command for one run; every: only each such round has a sample, for slow ways; rate: the
    command for many, without the number at a time and the duration; rate_ms: None, or longer than usual."""

    def __init__(self, id, title, worker, once="once", rate=None, every=1, rate_ms=None):
        self.id, self.title, self.worker = id, title, worker
        self.once, self.rate, self.every, self.rate_ms = once, rate, every, rate_ms
        self.way, self.job = id.rsplit(".", 1)


def table():
    rows = []
    kinds = (("data", "print"), ("data", "import"), ("data", "group-by"), ("stdlib", "print"))
    for key, title in (("pool", "Mayfly, from the pool"), ("demand", "Mayfly, on demand"),
                       ("plain", "Mayfly, on demand, without checkpoint")):
        for kind, job in kinds:
            if (key == "plain" and kind == "stdlib") or (key != "pool" and job == "import"):
                continue
            rate = f"rate {kind} {job}" if job != "import" else None
            rows.append(Variant(f"mayfly.{key}.{kind}.{job}", f"{title} ({kind})", key, f"once {kind} {job}", rate))
    rows += [
        Variant("eryx.new.print", "pyeryx, new sandbox", "eryx", "once new", "rate new"),
        Variant("eryx.new-teardown.print", "pyeryx, new sandbox, with its teardown", "eryx", "once new-teardown"),
        Variant("eryx.kept.print", "pyeryx, kept sandbox", "eryx", "once kept", "rate kept"),
        Variant("eryx.session.print", "pyeryx, kept session (state stays)", "eryx", "once session"),
        Variant("eryx.new.group-by", "pyeryx, new sandbox", "eryx", "once group-by"),
        Variant("bwrap.print", "bubblewrap, cold Python", "bwrap.print", rate="rate"),
        Variant("bwrap.group-by", "bubblewrap, cold Python", "bwrap.group-by", rate="rate", every=5, rate_ms=3000),
        Variant("runsc.print", "gVisor runsc do (ptrace), cold Python", "runsc.print", rate="rate", every=5, rate_ms=3000),
        Variant("runsc.group-by", "gVisor runsc do (ptrace), cold Python", "runsc.group-by", rate="rate", every=25, rate_ms=6000),
        Variant("cold.print", "cold Python, no sandbox", "cold.print", rate="rate"),
        Variant("cold.group-by", "cold Python, no sandbox", "cold.group-by", rate="rate", every=5, rate_ms=3000),
        Variant("warm.group-by", "warm plain interpreter, no sandbox", "warm", "once"),
    ]
    return rows


def select(patterns):
    """The rows whose id matches one of the patterns, split at commas; all without any. A pattern without * also means what
    begins with it."""
    rows = table()
    if not patterns:
        return rows
    wanted = [p.strip() for p in patterns.split(",") if p.strip()]

    def matches(row, pattern):
        return fnmatch.fnmatchcase(row.id, pattern) or row.id.startswith(pattern + ".")

    for p in wanted:
        if not any(matches(r, p) for r in rows):
            raise WorkerError(f"--only: nothing is called {p}; there are {', '.join(r.id for r in rows)}")
    return [r for r in rows if any(matches(r, p) for p in wanted)]


class Workers:
    """Starts each worker when it is first asked for, and knows what is missing."""

    # Nothing of this machine's environment reaches what is measured, and numpy gets one thread everywhere.
    ENV = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/tmp", "LANG": "C.UTF-8",
           "OPENBLAS_NUM_THREADS": "1"}

    def __init__(self, build, runtime):
        self.build = build
        self.running = {}
        self.failed = {}  # key → why it cannot be started; not tried again
        try:
            with open(os.path.join(runtime, "manifest.json"), encoding="utf-8") as f:
                self.manifest = json.load(f)
        except OSError as e:
            raise WorkerError(f"no runtime in {runtime} ({e.strerror}); make it with: make runtime") from e
        self.runtime, self.rootfs = runtime, os.path.join(runtime, "rootfs")

    def get(self, key):
        if key in self.failed:
            raise WorkerError(self.failed[key])
        if key not in self.running:
            try:
                self.running[key] = Worker(self._argv(key), self.ENV)
                self.running[key].wait_ready()
            except (WorkerError, OSError) as e:
                self.failed[key] = str(e)
                self.drop(key)
                raise WorkerError(str(e)) from e
        return self.running[key]

    def ask(self, key, command):
        """Raises WorkerError; a worker that can answer no more is started anew by the next question."""
        try:
            return self.get(key).ask(command)
        except WorkerGone:
            self.drop(key)
            raise

    def drop(self, key):
        if key in self.running:
            self.running.pop(key).close()

    def close(self):
        for key in list(self.running):
            self.drop(key)

    # ---- how each is started ----

    def _argv(self, key):
        way, _, job = key.partition(".")
        if way in ("pool", "demand", "plain"):
            argv = [self._built("mf-bench-driver"), "--runtime", self.runtime, "--zygote", os.path.join(self.build, "zygote"),
                    "--pool", str(POOL if way == "pool" else 0), "--checkpoint", "off" if way == "plain" else "auto"]
            for name, path in JOBS.items():
                argv += ["--job", f"{name}={path}"]
            return argv
        if way == "eryx":
            return [self.eryx_python(), "-I", os.path.join(BENCH, "peers", "eryx-worker.py"), JOBS["print"], JOBS["group-by"]]
        if way == "warm":
            return [self._host_python(), "-I", os.path.join(BENCH, "peers", "warm-worker.py"), self._site_packages(),
                    JOBS["group-by"]]
        spawn = self._built("mf-bench-spawn")
        inside = [self.manifest["python"], "-I", "-c", job_source(job)]
        if way == "bwrap":
            # /tmp and /dev/shm of the runtime's image are links into /mnt.
            return [spawn, tool("bwrap"), "--unshare-all", "--die-with-parent", "--new-session", "--ro-bind", self.rootfs, "/",
                    "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/mnt", "--dir", "/mnt/tmp", "--dir", "/mnt/data",
                    "--chdir", "/mnt/data"] + inside
        if way == "runsc":
            return [spawn, tool("runsc"), "--rootless", "--network=none", "--platform=ptrace", "do", "-root=" + self.rootfs,
                    "-cwd=/"] + inside
        source = job_source(job)
        if job != "print":  # -I keeps the packages of the runtime out, so the program lets them in itself
            source = f"import sys; sys.path.append({self._site_packages()!r})\n{source}"
        return [spawn, self._host_python(), "-I", "-c", source]

    def _built(self, name):
        path = os.path.join(self.build, "bench", "driver", name)
        if not os.access(path, os.X_OK):
            raise WorkerError(f"{name} is not built (ninja -C {os.path.basename(self.build)} bench/driver/{name})")
        return path

    def _host_python(self):
        path = self.manifest.get("hostPython") or ""
        if not os.access(path, os.X_OK):
            raise WorkerError("the interpreter that the runtime was made from is gone")
        return path

    def _site_packages(self):
        return self.rootfs + self.manifest["sitePackages"]

    def eryx_python(self):
        path = os.path.join(self.build, "bench-venv", "bin", "python")
        if not os.access(path, os.X_OK):
            raise WorkerError("pyeryx is not installed (bench/setup says why)")
        return path


def tool(name):
    path = shutil.which(name, path=Workers.ENV["PATH"])
    if not path:
        raise WorkerError(f"{name} is not installed (scripts/setup --bench)")
    return path


def versions(workers):
    """The peers' own words about their versions; what is not here is left out."""
    found = {}
    for name, argv in (("bubblewrap", ["bwrap", "--version"]), ("runsc", ["runsc", "--version"])):
        try:
            out = subprocess.run([tool(argv[0])] + argv[1:], capture_output=True, text=True, timeout=20, env=Workers.ENV).stdout
            found[name] = out.splitlines()[0].split()[-1]
        except (WorkerError, OSError, subprocess.SubprocessError, IndexError):
            continue
    try:
        out = subprocess.run([workers.eryx_python(), "-I", "-c", "from importlib.metadata import version; print(version('pyeryx'))"],
                             capture_output=True, text=True, timeout=60, env=Workers.ENV).stdout.strip()
        if out:
            found["pyeryx"] = out
    except (WorkerError, OSError, subprocess.SubprocessError):
        pass
    return found
