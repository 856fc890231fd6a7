"""What libraries do with the place of their own files, which the guest has not."""
import contextlib
import datetime
import importlib.resources
import inspect
import io
import json
import logging
import os
import sys
import warnings

with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    assert datetime.datetime.strptime("03-01", "%m-%d").day == 1
assert [w.category for w in told] == [DeprecationWarning] and told[0].filename == __file__, told

assert json.__file__.endswith("/json/__init__.py") and json.__file__ == json.loads.__code__.co_filename
for what in (json, json.JSONDecoder, json.loads):
    try:
        inspect.getsource(what)
    except OSError:
        pass
    else:
        raise AssertionError("there is a source")

os.makedirs("/tmp/here/package")
for name, text in (("__init__.py", "import importlib.resources as r\nvalue = r.files().joinpath('x.txt').read_text()\n"),
                   ("x.txt", "found")):
    with open("/tmp/here/package/" + name, "w") as f:
        f.write(text)
sys.path.insert(0, "/tmp/here")
import package  # noqa: E402

assert package.value == "found"
assert importlib.resources.files(package).joinpath("x.txt").is_file()

with contextlib.redirect_stderr(io.StringIO()) as err:
    logging.warning("%d", "no number")
assert "--- Logging error ---" in err.getvalue() and "no number" in err.getvalue(), err.getvalue()

with contextlib.redirect_stdout(io.StringIO()) as out:
    help(str.upper)
assert "uppercase" in out.getvalue(), out.getvalue()
assert (sys.stdin.name, sys.stdout.name, sys.stderr.name) == ("<stdin>", "<stdout>", "<stderr>")
assert str(inspect.signature(os.popen)) == "(*args, **kwargs)"
print("as elsewhere")
