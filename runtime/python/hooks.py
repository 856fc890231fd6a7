"""What libraries want done around a fork and at the end of a program.

A guest is itself a fork of the zygote, made while its only thread held no lock, so nearly all that the libraries' fork hooks
would do for it is nothing, at the price of a hundred copied pages. Hooks that are registered while the zygote imports are
therefore kept here: forks that a guest makes run them, the zygote's own do not. The same for exit handlers: a library that
the guest has not used has nothing to end.
"""
import atexit
import os
import sys

_register_at_fork, _register_exit = os.register_at_fork, atexit.register


class Hooks:
    """From begin() to end() the registrations of imported libraries come here."""

    def __init__(self, is_own_fork):
        self._is_own_fork = is_own_fork
        self._before, self._in_parent, self._in_child, self._exits = [], [], [], []

    def begin(self):
        os.register_at_fork = self._at_fork
        atexit.register = self._at_exit
        # The first of all, so that the order is as it would have been: hooks before a fork run last to first.
        _register_at_fork(
            before=lambda: self._run(reversed(self._before)), after_in_parent=lambda: self._run(self._in_parent),
            after_in_child=lambda: self._run(self._in_child))

    def end(self):
        """Puts the real functions back; returns a tuple of what is to be called at the end of a guest's program, each
        whatever became of the one before."""
        os.register_at_fork, atexit.register = _register_at_fork, _register_exit
        import threading

        libraries = [_unless(_idle(fn), fn, args, kwargs) for fn, args, kwargs in reversed(self._exits)]
        return (_unless(_threading_idle(threading), threading._shutdown), atexit._run_exitfuncs, *libraries)

    def _at_fork(self, *, before=None, after_in_parent=None, after_in_child=None):
        for fn, hooks in ((before, self._before), (after_in_parent, self._in_parent), (after_in_child, self._in_child)):
            if fn is not None:
                hooks.append(fn)

    def _at_exit(self, fn, /, *args, **kwargs):
        self._exits.append((fn, args, kwargs))
        return fn

    def _run(self, hooks):
        if not self._is_own_fork():
            for fn in hooks:
                fn()


def _unless(idle, fn, args=(), kwargs={}):
    def step():
        if not idle():
            fn(*args, **kwargs)

    return step


def _threading_idle(threading):
    """A function that says whether there is nobody to wait for: no thread but the first, no hook of the guest's."""
    active, limbo, hooks = threading._active, threading._limbo, getattr(threading, "_threading_atexits", ())
    n = len(hooks)
    return lambda: len(active) == 1 and not limbo and len(hooks) == n


def _idle(fn):
    """A function that says whether the library of this exit handler was left alone; of unknown ones it never says so."""
    name = (fn.__module__, getattr(fn, "__qualname__", ""))
    if name == ("logging", "shutdown"):
        handlers = sys.modules["logging"]._handlerList
        n = len(handlers)
        return lambda: len(handlers) == n
    if name == ("multiprocessing.util", "_exit_function"):
        finalizers = sys.modules["multiprocessing.util"]._finalizer_registry
        children = sys.modules["multiprocessing.process"]._children
        return lambda: not finalizers and not children
    return lambda: False
