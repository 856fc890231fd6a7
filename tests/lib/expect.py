"""Compares a result with an expect.json; returns a list of sentences, empty when all is as expected."""
import hashlib
import re

KEYS = {"about", "needs", "doors", "argv", "texts", "generate", "limits", "runtime", "sourceName",
        "displayLastExpression", "cancelAfterMs", "cancelAfterStartMs", "status", "reason", "exitCode", "signal",
        "stdout", "stderr", "truncated", "artifacts", "artifactsOther", "rejected", "denied", "repeat",
        "durationMsBelow", "nextTask", "receipt", "alone", "plain", "on"}
TEXT_KEYS = {"equals", "matches", "contains", "notContains", "bytes", "chars", "sha256"}


def _shown(text, limit=600):
    shown = repr(text)
    return shown if len(shown) <= limit else shown[:limit // 2] + " … " + shown[-limit // 2:]


def _one_of(value, wanted):
    return value in wanted if isinstance(wanted, list) else value == wanted


def unmarked(text):
    """A traceback without the lines that mark places in those above them: versions of Python mark differently."""
    return re.sub(r"^ *[~^]+ *\n", "", text, flags=re.M) if isinstance(text, str) else text


def text(name, got, want):
    """`want` is the exact text, or an object of conditions."""
    if isinstance(want, str):
        want = {"equals": want}
    unknown = set(want) - TEXT_KEYS
    if unknown:
        return ["expect.json: unknown condition %s for %s" % (sorted(unknown), name)]
    problems = []
    if "equals" in want and got != want["equals"]:
        problems.append("%s: expected %s" % (name, _shown(want["equals"])))
    if "matches" in want and not re.fullmatch(want["matches"], got, re.S):
        problems.append("%s: does not match %s" % (name, _shown(want["matches"])))
    for part in want.get("contains", []):
        if part not in got:
            problems.append("%s: lacks %s" % (name, _shown(part)))
    for part in want.get("notContains", []):
        if part in got:
            problems.append("%s: must not hold %s" % (name, _shown(part)))
    if "bytes" in want and len(got.encode()) != want["bytes"]:
        problems.append("%s: expected %d bytes, got %d" % (name, want["bytes"], len(got.encode())))
    if "chars" in want and len(got) != want["chars"]:
        problems.append("%s: expected %d characters, got %d" % (name, want["chars"], len(got)))
    if "sha256" in want and hashlib.sha256(got.encode()).hexdigest() != want["sha256"]:
        problems.append("%s: another SHA-256 than expected" % name)
    if problems:
        problems.append("%s was %s" % (name, _shown(got)))
    return problems


def artifacts(result, want, other):
    problems = []
    got = {a["path"]: a for a in result["artifacts"]}
    for path, conditions in want.items():
        a = got.pop(path, None)
        if a is None:
            problems.append("artifact %s is missing; there are %s" % (path, sorted(x["path"] for x in
                                                                                 result["artifacts"])))
            continue
        for key in ("sha256", "sizeBytes", "mimeType"):
            if key in conditions and not _one_of(a[key], conditions[key]):
                problems.append("artifact %s: %s is %r, expected %r" % (path, key, a[key], conditions[key]))
        if "contents" in result:
            data = result["contents"].get(path)
            if data is None:
                problems.append("artifact %s: its content was not given" % path)
                continue
            if hashlib.sha256(data).hexdigest() != a["sha256"] or len(data) != a["sizeBytes"]:
                problems.append("artifact %s: the content is not what the manifest says" % path)
            if "text" in conditions:
                problems += text("artifact " + path, data.decode("utf-8", "replace"), conditions["text"])
            if "startsWithHex" in conditions and not data.hex().startswith(conditions["startsWithHex"]):
                problems.append("artifact %s starts with %s" % (path, data[:16].hex()))
    if got and not other:
        problems.append("unexpected artifacts: %s" % sorted(got))
    return problems


def well_formed(result):
    """What holds of every result of every provider."""
    problems = []
    if result["status"] not in ("succeeded", "failed", "timed_out", "cancelled"):
        problems.append("status %r is none of the task API's" % result["status"])
    if result["status"] == "succeeded" and (result["exitCode"] != 0 or result["signal"]):
        problems.append("succeeded with exit code %r and signal %r" % (result["exitCode"], result["signal"]))
    if result["exitCode"] is not None and not 0 <= result["exitCode"] <= 255:
        problems.append("exit code %r" % result["exitCode"])
    for key in ("truncated", "usage", "receipt", "denied", "artifacts", "rejectedArtifacts"):
        if key not in result:
            problems.append("the result has no %s" % key)
    for name, stream in (result.get("stream") or {}).items():
        if not stream["same"]:
            problems.append("%s: what was streamed live differs from the result" % name)
    paths = [a["path"] for a in result["artifacts"]]
    if paths != sorted(paths, key=lambda p: p.encode()):
        problems.append("artifacts are not sorted by path: %s" % paths)
    return problems


def result(got, want):
    """All conditions of one expect.json (those about how to run it are the runner's)."""
    unknown = set(want) - KEYS
    if unknown:
        return ["expect.json: unknown keys %s" % sorted(unknown)]
    problems = well_formed(got)
    for key in ("status", "reason", "exitCode", "signal"):
        if key in want and not _one_of(got[key], want[key]):
            problems.append("%s is %r, expected %r" % (key, got[key], want[key]))
    for key in ("stdout", "stderr"):
        problems += text(key, got[key], want[key]) if key in want else []
    for stream in ("stdout", "stderr"):
        if got["truncated"][stream] != want.get("truncated", {}).get(stream, False):
            problems.append("truncated.%s is %r" % (stream, got["truncated"][stream]))
    problems += artifacts(got, want.get("artifacts", {}), want.get("artifactsOther", False))
    rejected = {r["path"]: r["reason"] for r in got["rejectedArtifacts"]}
    for path, pattern in want.get("rejected", {}).items():
        if path not in rejected:
            problems.append("%s is not listed as refused; listed are %s" % (path, rejected))
        elif not re.search(pattern, rejected.pop(path)):
            problems.append("%s was refused with another reason than /%s/" % (path, pattern))
    if rejected and "rejected" not in want:
        problems.append("refused artifacts: %s" % rejected)
    if want.get("denied") == [] and got["denied"]:
        problems.append("denied is %s, expected nothing" % got["denied"])
    for pattern in want.get("denied", []):
        if not any(re.search(pattern, d) for d in got["denied"]):
            problems.append("no denied entry matches /%s/: %s" % (pattern, got["denied"]))
    for key, pattern in want.get("receipt", {}).items():
        if not re.search(pattern, str(got["receipt"].get(key, ""))):
            problems.append("receipt.%s is %r" % (key, got["receipt"].get(key)))
    if "durationMsBelow" in want and got["usage"]["durationMs"] >= want["durationMsBelow"]:
        problems.append("it took %s ms, which shows that it waited" % got["usage"]["durationMs"])
    if problems and not any(p.startswith("std") for p in problems):
        problems.append("stdout was %s" % _shown(got["stdout"]))
        problems.append("stderr was %s" % _shown(got["stderr"]))
    if problems:
        problems.append("result: %s" % {k: got[k] for k in ("status", "reason", "exitCode", "signal", "denied",
                                                            "truncated", "usage", "diagnostic") if k in got})
    return problems
