"""Where the built things are: from the environment that meson sets, else the usual build folder."""
import os

import tap

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ROOT = os.path.dirname(TESTS)
BUILD = os.environ.get("MF_BUILD") or os.path.join(ROOT, "build")


def _place(variable, *default):
    return os.environ.get(variable) or os.path.join(BUILD, *default)


def driver():
    return _place("MF_DRIVER", "tests", "driver", "mf-driver")


def mayfly():
    return _place("MF_MAYFLY", "mayfly")


def zygote():
    return _place("MF_ZYGOTE", "zygote")


def runtime():
    """The runtime's folder; the build's own or the one of the usual build folder (it takes minutes to make)."""
    for candidate in (os.environ.get("MF_RUNTIME"), os.environ.get("MAYFLY_RUNTIME"), os.path.join(BUILD, "runtime"),
                      os.path.join(ROOT, "build", "runtime")):
        if candidate and os.path.exists(os.path.join(candidate, "manifest.json")):
            return candidate
    return None


def wasm_runtime():
    """The folder of the wasm provider's runtime (scripts/setup-wasm-runtime), or None."""
    for candidate in (os.environ.get("MF_WASM_RUNTIME"), os.environ.get("MAYFLY_WASM_RUNTIME"), os.path.join(BUILD, "wasm"),
                      os.path.join(ROOT, "build-wasm", "wasm")):
        if candidate and os.path.exists(os.path.join(candidate, "manifest.json")):
            return candidate
    return None


def sdk():
    """The folder of the official clients (scripts/setup-sdk), or None."""
    for candidate in (os.environ.get("MF_SDK"), os.path.join(BUILD, "sdk"), os.path.join(ROOT, "build", "sdk")):
        if candidate and os.path.exists(os.path.join(candidate, "python", "stamp")) and \
                os.path.exists(os.path.join(candidate, "node", "stamp")):
            return candidate
    return None


def typescript():
    """The compiler of the TypeScript client (scripts/setup-sdk), or None."""
    for candidate in (os.environ.get("MF_SDK"), os.path.join(BUILD, "sdk"), os.path.join(ROOT, "build", "sdk")):
        compiler = os.path.join(candidate or "", "typescript", "node_modules", ".bin", "tsc")
        if candidate and os.path.exists(compiler):
            return compiler
    return None


def need_provider(provider, *things):
    """need(), and what this provider runs programs with."""
    need(*things, *(["wasm"] if provider == "wasm" else ["zygote", "runtime"]))


def need(*things):
    """Skips the whole suite, with the reason, when a built thing is not there."""
    for thing in things:
        path = {"driver": driver, "mayfly": mayfly, "zygote": zygote, "runtime": runtime, "wasm": wasm_runtime}[thing]()
        if path is None:
            tap.skip_all("the runtime is not set up (%s)" % ("make wasm" if thing == "wasm" else "make runtime"))
        if not os.path.exists(path):
            tap.skip_all("%s is not built (make build)" % os.path.basename(path))
