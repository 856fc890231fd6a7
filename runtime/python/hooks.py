"""What libraries want done around a fork and at the end of a program.

A guest is itself a fork of the zygote, made while its only thread held no lock, so nearly all that the libraries' fork hooks
would do for it is nothing, at the price of a hundred copied pages. Hooks that are registered while the zygote imports are
therefore kept here: forks that a guest makes run them, the zygote's own do not. The same for exit handlers: a library that
the guest has not used has nothing to end.
"""
import atexit
import os
import sys

_register_at_fork, _register_exit, _unregister_exit = os.register_at_fork, atexit.register, atexit.unregister


class Hooks:
    """From begin() to end() the registrations of imported libraries come here."""

    def __init__(self, is_own_fork, call_hooks):
        self._is_own_fork, self._call_hooks = is_own_fork, call_hooks
        self._before, self._in_parent, self._in_child, self._exits, self._gone = [], [], [], [], []

    def begin(self):
        os.register_at_fork = self._at_fork
        atexit.register = self._at_exit
        atexit.unregister = self._no_exit
        # The first of all, so that the order is as it would have been: hooks before a fork run last to first.
        _register_at_fork(
            before=lambda: self._run(self._before[::-1]), after_in_parent=lambda: self._run(self._in_parent),
            after_in_child=lambda: self._run(self._in_child))

    def end(self):
        """Puts the real functions back; returns a tuple of what is to be called at the end of a guest's program, each
        whatever became of the one before."""
        os.register_at_fork, atexit.register = _register_at_fork, _register_exit
        import threading

        libraries = [_unless(self._idle(fn), fn, args, kwargs) for fn, args, kwargs in reversed(self._exits)]
        return (_unless(_threading_idle(threading), threading._shutdown), atexit._run_exitfuncs, *libraries)

    def _at_fork(self, *, before=None, after_in_parent=None, after_in_child=None):
        for fn, hooks in ((before, self._before), (after_in_parent, self._in_parent), (after_in_child, self._in_child)):
            if fn is not None:
                hooks.append(fn)

    def _at_exit(self, fn, /, *args, **kwargs):
        self._exits.append((fn, args, kwargs))
        return fn

    def _no_exit(self, fn, /):
        """atexit.unregister, for good: a program may take back what a library registered."""
        _unregister_exit(fn)
        self._gone.append(fn)

    def _idle(self, fn):
        """A function that says whether this exit handler has nothing to do."""
        unused, gone = _unused(fn), self._gone
        return lambda: unused() or fn in gone

    def _run(self, hooks):
        if not self._is_own_fork():
            self._call_hooks(hooks)


def _unless(idle, fn, args=(), kwargs={}):
    def step():
        if not idle():
            fn(*args, **kwargs)

    return step


def _threading_idle(threading):
    """A function that says whether there is nobody to wait for: no thread but the first, no hook of the guest's. A thread
    that has ended is no longer active, but until its locals are gone it holds a lock, up to Python 3.12."""
    names, active, limbo, hooks = vars(threading), threading._active, threading._limbo, threading._threading_atexits
    n = len(hooks)
    return lambda: (len(active) == 1 and not limbo and len(hooks) == n
                    and len(names.get("_shutdown_locks", ())) <= 1)


def _unused(fn):
    """A function that says whether the library of this exit handler was left alone; of unknown ones it never says so."""
    name = (fn.__module__, getattr(fn, "__qualname__", ""))
    if name == ("logging", "shutdown"):
        handlers = sys.modules["logging"]._handlerList
        known = list(handlers)  # by identity, not by number: a configuration puts its own in their place
        return lambda: handlers == known
    if name == ("multiprocessing.util", "_exit_function"):
        finalizers = sys.modules["multiprocessing.util"]._finalizer_registry
        children = sys.modules["multiprocessing.process"]._children
        return lambda: not finalizers and not children
    return lambda: False
