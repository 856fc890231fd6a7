"""pyeryx as its users call it, timed inside its own process. Speaks the lines of driver/answer.h."""
import json
import sys
import threading
import time

import eryx


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


PRINT, GROUP_BY = read(sys.argv[1]), read(sys.argv[2])
MORE = {name: read(path) for name, _, path in (word.partition("=") for word in sys.argv[3:])}  # NAME=FILE
clock = time.perf_counter


def timed(work):
    begin = clock()
    result = work()
    return (clock() - begin) * 1e3, result


def new(source=PRINT):
    """A fresh sandbox and its result; it is torn down before the answer, but outside of the time."""
    begin = clock()
    sandbox = eryx.Sandbox()
    result = sandbox.execute(source)
    ms = (clock() - begin) * 1e3
    del sandbox
    return ms, result


def new_teardown():
    begin = clock()
    sandbox = eryx.Sandbox()
    result = sandbox.execute(PRINT)
    del sandbox
    return (clock() - begin) * 1e3, result


def make_ways():
    kept, session = eryx.Sandbox(), eryx.Session()
    return {
        "new": new,
        "new-teardown": new_teardown,
        "kept": lambda: timed(lambda: kept.execute(PRINT)),
        "session": lambda: timed(lambda: session.execute(PRINT)),
        "group-by": lambda: new(GROUP_BY),
    } | {name: (lambda source=source: new(source)) for name, source in MORE.items()}


def text(result):
    out = result.stdout if hasattr(result, "stdout") else result
    return out.decode() if isinstance(out, bytes) else str(out)


def rate(way, running, ms):
    begin = clock()
    until, done, last, problems = begin + ms / 1e3, [0] * running, [begin] * running, []

    def work(i):
        try:
            kept = eryx.Sandbox() if way == "kept" else None
            while clock() < until:
                (kept or eryx.Sandbox()).execute(PRINT)
                done[i] += 1
                last[i] = clock()
        except Exception as e:  # a thread's trouble must reach the answer
            problems.append(str(e))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(running)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    if problems:
        return {"error": problems[0]}
    return {"perSecond": sum(done) / (max(last) - begin), "runs": sum(done)}


def answer(ways, words):
    try:
        if len(words) == 2 and words[0] == "once" and words[1] in ways:
            ms, result = ways[words[1]]()
            return {"ms": ms, "out": text(result)}
        if len(words) == 4 and words[0] == "rate" and words[1] in ("new", "kept"):
            return rate(words[1], int(words[2]), int(words[3]))
        return {"error": f"no such command: {' '.join(words)}"}
    except eryx.EryxError as e:
        return {"error": str(e).strip().splitlines()[-1]}


def main():
    ways = make_ways()
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        print(json.dumps(answer(ways, line.split())), flush=True)


main()
