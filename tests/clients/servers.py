"""What both clients are tested against: two servers, and the example of a README as a program."""
import contextlib
import json
import os
import re
import sys

sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "lib"))

import gateway  # noqa: E402
import leaks  # noqa: E402

SALES = "city,amount\nŁódź,3\n北京,4\nŁódź,5\n"
NO_MODEL = "http://127.0.0.1:9"


@contextlib.contextmanager
def running(t):
    """Two of `mayfly serve`: one with the keys first-key and second-key, a small one with one place, a queue of one and a second
    of retention."""
    gateway.need()
    leaks.adopt_orphans()
    before = leaks.Snapshot()
    settings = {"pool_data": 1, "max_concurrent_guests": 4, "max_aggregate_guest_memory_bytes": 8 << 27,
                "max_aggregate_worker_memory_bytes": 8 << 30}
    with gateway.Gateway(NO_MODEL, settings=settings, env={"MAYFLY_API_KEYS": "first-key,second-key"}) as big:
        with gateway.Gateway(NO_MODEL, env={"MAYFLY_TASKS_MAX_CONCURRENT": "1", "MAYFLY_TASKS_QUEUE_MAX": "1",
                                            "MAYFLY_TASKS_RETENTION_SECONDS": "1"}) as small:
            yield big, small
            t.check("what was deleted leaves no file", [*remove_all(big, "first-key"), *remove_all(small, None)])
            t.ok(small.stop() == 0, "the small server ends well", small.log()[-2000:])
        t.ok(big.stop() == 0, "the server ends well", big.log()[-2000:])
        t.ok("first-key" not in big.log(), "no key is in the log")
    t.check("nothing is left behind", before.left())


def remove_all(server, key):
    """Deletes every task; what then is in the folder of their files, beside its mark."""
    headers = {"Authorization": "Bearer " + key} if key else {}
    while True:
        status, _, data = server.call("GET", "/v1/tasks?limit=100", headers=headers)
        assert status == 200, data
        tasks = json.loads(data)["data"]
        if not tasks:
            break
        for task in tasks:
            status, _, data = server.call("DELETE", "/v1/tasks/" + task["taskId"], headers=headers)
            assert status == 200, data
    folder = os.path.join(server.home, "files")
    assert os.path.isdir(folder), os.listdir(server.home)

    def left():
        names = [os.path.join(d, name) for d, _, names in os.walk(folder) for name in names if name != "mayfly-files"]
        return not names, names
    return server.until("files are left", left)


def example(readme, language, number=0):
    """The program that a README shows, with its server's address replaced by {URL}."""
    with open(readme, encoding="utf-8") as f:
        found = re.findall(r"^```%s\n(.*?)^```$" % language, f.read(), re.S | re.M)
    return found[number].replace("http://127.0.0.1:9000", "{URL}")


def check_example(t, name, folder, done, shows):
    """`done`: the finished process; it ran in `folder`, which had sales.csv."""
    output = done.stdout.decode("utf-8", "replace")
    t.ok(done.returncode == 0 and all(s in output for s in shows), name, done.returncode, output[-1000:], done.stderr[-2000:])
    path = os.path.join(folder, "sums.png")
    if os.path.exists(path):
        with open(path, "rb") as f:
            t.ok(f.read(4) == b"\x89PNG", name + ": the picture is there")
        os.remove(path)


def prepare(folder):
    with open(os.path.join(folder, "sales.csv"), "w", encoding="utf-8") as f:
        f.write(SALES)
