#!/usr/bin/env python3
"""`mayfly config`: values and where they came from, errors of one line, and the documented table."""
import json
import os
import sys

from command import Place, one_line

import places
import tap


def config(place, *words, env=None, toml=None):
    """CompletedProcess of `mayfly config` with a home folder of its own."""
    home = os.path.join(place.path, "home")
    os.makedirs(home, exist_ok=True)
    if toml is not None:
        with open(os.path.join(home, "config.toml"), "w", encoding="utf-8") as f:
            f.write(toml)
    return place.run("config", *words, env={"AGENTIC_API_HOME": home, "MAYFLY_RUNTIME": "", **(env or {})})


def keys(done):
    return json.loads(done.stdout)["keys"] if done.returncode == 0 else {"error": done.stderr}


def check_values(t):
    with Place() as place:
        done = config(place, "--json", "--gateway-port", "3", env={"GATEWAY_HOST": "127.0.0.2"},
                      toml="[server]\nhost = \"::1\"\nport = 1\n[log]\nlevel = \"warn\"\n")
        got = keys(done)
        want = {"server.port": ("3", "option --gateway-port"), "server.host": ("127.0.0.2", "environment GATEWAY_HOST"),
                "log.level": ("warn", os.path.join(place.path, "home", "config.toml:5")), "log.format": ("text", "default")}
        problems = ["%s: %s" % (k, got.get(k)) for k, v in want.items() if got.get(k) != {"value": v[0], "from": v[1]}]
        t.check("option, environment, file, default", problems)

    with Place() as place:
        done = config(place)
        text = done.stdout.decode()
        good = done.returncode == 0 and "there is none yet" in text and "server.port" in text and not done.stderr
        t.ok(good, "without a file everything is shown too", text, done.stderr)
        t.ok(not os.path.exists(os.path.join(place.path, "home", "config.toml")), "looking writes nothing")

    with Place() as place:
        secrets = {"OPENAI_API_KEY": "sk-hidden", "MAYFLY_API_KEYS": "hidden-too"}
        for words in (["--json"], []):
            done = config(place, *words, "--openai-api-key", "hidden-word", env=secrets)
            shown = done.stdout + done.stderr
            t.ok(done.returncode == 0 and b"hidden" not in shown and b"(set)" in shown, "secrets are masked " + " ".join(words),
                 shown)

    with Place() as place:
        done = config(place, "--json", toml="[mcp_servers.x]\nurl = \"http://y\"\n")
        warnings = json.loads(done.stdout)["warnings"]
        t.ok(len(warnings) == 1 and "mcp_servers" in warnings[0], "what comes later is accepted with a word", warnings)


def check_errors(t):
    for name, toml, env, words, part in [
            ("an unknown key", "[code_interpreter]\nenabeld = true\n", {}, [],
             "config.toml:2: unknown key code_interpreter.enabeld: did you mean code_interpreter.enabled?"),
            ("broken TOML", "[server\n", {}, [], "config.toml:1: "),
            ("a bad variable", "", {"AGENTIC_CODE_INTERPRETER_ENABLED": "maybe"}, [], "AGENTIC_CODE_INTERPRETER_ENABLED"),
            ("a bad option", "", {}, ["--gateway-port", "x"], "option --gateway-port: expected a whole number"),
            ("a relative home", None, {"AGENTIC_API_HOME": "here"}, [], "AGENTIC_API_HOME: expected an absolute path"),
            ("0.0.0.0 without a key", "", {}, ["--gateway-host", "0.0.0.0"], "no key is set"),
            ("OIDC", "", {"OIDC_ISSUER": "https://i", "OIDC_AUDIENCE": "a"}, [], "cannot check OIDC tokens"),
            ("PostgreSQL", "database_url = \"postgres://h/d\"\n", {}, [], "cannot use PostgreSQL"),
            ("another database", "database_url = \"mysql://u:hush@h/d\"\n", {}, [], "config.toml:1): expected sqlite:///path")]:
        with Place() as place:
            t.check("refused in one line: " + name, one_line(config(place, *words, env=env, toml=toml), part, 1))
    with Place() as place:
        t.check("an unknown option", one_line(config(place, "--gateway-prt", "1"), "did you mean --gateway-port?", 2))


def check_docs(t):
    with Place() as place:
        table = config(place, "--reference").stdout.decode()
    with open(os.path.join(places.ROOT, "docs", "configuration.md"), encoding="utf-8") as f:
        page = f.read()
    rows = table.splitlines()
    missing = [row for row in rows if row not in page.splitlines()]
    t.check("docs/configuration.md has the table (mayfly config --reference)", missing)
    extra = [row for row in page.splitlines() if row.startswith("| `") and row.count("|") == 7 and row not in rows]
    t.check("and nothing that is not in it", extra)


def main():
    places.need("mayfly")
    t = tap.Tap()
    check_values(t)
    check_errors(t)
    check_docs(t)
    return t.done()


if __name__ == "__main__":
    sys.exit(main())
