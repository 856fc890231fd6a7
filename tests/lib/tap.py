"""TAP (version 13) for meson: one line a check, diagnostics below it, the plan at the end."""
import os
import sys
import threading

# With MF_MUST_WORK=1 a skip is a failure: for machines that are known to have everything.
MUST_WORK = os.environ.get("MF_MUST_WORK") == "1"


class Tap:
    def __init__(self, out=None):
        self.out = out or sys.stdout
        self.lock = threading.Lock()
        self.count = 0
        self.failed = 0
        self.skipped = 0

    def _line(self, ok, name, directive, diagnostics):
        with self.lock:
            self.count += 1
            if not ok:
                self.failed += 1
            name = " ".join(str(name).split()).replace("#", "\\#")
            self.out.write("%s %d - %s%s\n" % ("ok" if ok else "not ok", self.count, name, directive))
            for text in diagnostics:
                for line in str(text).splitlines() or [""]:
                    self.out.write("# %s\n" % line[:2000])
            self.out.flush()
        return ok

    def check(self, name, problems):
        """One test: it passed when the list of problems is empty."""
        return self._line(not problems, name, "", problems)

    def ok(self, condition, name, *diagnostics):
        return self._line(bool(condition), name, "", () if condition else diagnostics)

    def skip(self, name, reason):
        if MUST_WORK:
            return self._line(False, name, "", ["must work here, but: " + reason])
        with self.lock:
            self.skipped += 1
        return self._line(True, name, " # SKIP " + " ".join(reason.split()), ())

    def note(self, text):
        with self.lock:
            for line in str(text).splitlines():
                self.out.write("# %s\n" % line)
            self.out.flush()

    def done(self):
        """Prints the plan; returns the exit status. A suite that checked nothing has failed."""
        with self.lock:
            self.out.write("1..%d\n" % self.count)
            self.out.flush()
        return 1 if self.failed or self.count == 0 else 0


def skip_all(reason):
    """Ends the process: nothing of this suite can run here."""
    if MUST_WORK:
        print("not ok 1 - must work here, but: %s\n1..1" % " ".join(reason.split()))
        sys.exit(1)
    print("1..0 # SKIP " + " ".join(reason.split()))
    sys.exit(0)
