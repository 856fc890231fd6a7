#!/usr/bin/env python3
"""`mayfly demo`: the whole way once, for eyes and for programs."""
import json
import os
import sys

from command import Place, one_line

import places
import tap


def main():
    places.need("mayfly", "zygote", "runtime")
    t = tap.Tap()
    with Place() as place:
        # A configuration of the person's, however wrong, is none of its business.
        place.file("config.toml", "[wrong\n")
        env = {"AGENTIC_API_HOME": place.path, "OPENAI_API_KEY": "sk-hidden", "GATEWAY_PORT": "x"}
        done = place.run("demo", env=env)
        text = done.stdout.decode()
        t.ok(done.returncode == 0 and not done.stderr, "it ends well", done)
        for part in ("[the question]", "[the model's program]", "import pandas as pd", "[output of the sandbox]",
                     "15 orders, 4978.30 in all; best region: 上海", "[the model answers]", "completed: 3 items"):
            t.ok(part in text, "it shows: " + part, text)
        t.ok(text.count("best region: 上海") == 2, "the answer quotes what the program printed", text)
        t.ok(place.names() == ["config.toml"], "it keeps nothing", place.names())

        done = place.run("demo", "--json", env=env)
        events = [json.loads(line) for line in done.stdout.splitlines()]
        problems = [] if done.returncode == 0 else [done]
        if [e["sequence_number"] for e in events] != list(range(len(events))):
            problems.append("sequence numbers")
        if not events or events[0]["type"] != "response.created" or events[-1]["type"] != "response.completed":
            problems.append([e["type"] for e in events])
        elif [i["type"] for i in events[-1]["response"]["output"]] != ["reasoning", "code_interpreter_call", "message"]:
            problems.append(events[-1]["response"]["output"])
        t.check("--json prints the events", problems)

        with open(os.devnull, "rb") as nobody:
            started = place.start("demo", env=env, stdin=nobody)
            started.stdout.close()
            started.stderr.read()
            started.stderr.close()
            t.ok(started.wait(120) == 141, "a reader that has gone ends it", started.returncode)
        t.check("without a runtime it says so", one_line(place.run("demo", "--runtime", "/nonexistent"), "/nonexistent", 1))
        t.check("it takes no words", one_line(place.run("demo", "x"), "takes no arguments", 2))
    return t.done()


if __name__ == "__main__":
    sys.exit(main())
