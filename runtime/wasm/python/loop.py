"""asyncio's event loop where nothing can arrive from outside: timers and tasks only."""
import asyncio
import asyncio.events
import asyncio.unix_events
import selectors
import time

NO_NETWORK = "connections are not available in the WebAssembly sandbox: it has no network"
NO_EXECUTOR = guest["raiser"]("run_in_executor", RuntimeError,
                              "run_in_executor is not available in the WebAssembly sandbox: it has one thread")


class _TimeSelector(selectors._BaseSelectorImpl):
    """Waits; no descriptor can ever become ready."""

    def register(self, fileobj, events, data=None):
        raise OSError(58, NO_NETWORK)

    def select(self, timeout=None):
        # Nothing but a timer can wake a loop with one thread: without one it would wait for ever, and so it does.
        while timeout is None:
            time.sleep(3600)
        if timeout > 0:
            time.sleep(timeout)
        return []


class _UnixSelectorEventLoop(asyncio.unix_events._UnixSelectorEventLoop):
    def __init__(self, selector=None):
        super().__init__(_TimeSelector())

    def _make_self_pipe(self):
        self._internal_fds += 1

    def _close_self_pipe(self):
        self._internal_fds -= 1

    def _write_to_self(self):
        pass

    def _process_self_data(self, data):
        pass

    getaddrinfo = guest["raiser"]("getaddrinfo", OSError, 58, NO_NETWORK)
    getnameinfo = guest["raiser"]("getnameinfo", OSError, 58, NO_NETWORK)

    def run_in_executor(self, executor, func, *args):
        # Not made at all: a loop that has one wants a thread to end it.
        return NO_EXECUTOR() if executor is None else super().run_in_executor(executor, func, *args)

    def add_signal_handler(self, sig, callback, *args):
        raise NotImplementedError("signal handlers of a loop are not available in the WebAssembly sandbox: nothing sends signals")


_UnixSelectorEventLoop.__qualname__ = "_UnixSelectorEventLoop"
asyncio.unix_events._UnixSelectorEventLoop = _UnixSelectorEventLoop
asyncio.unix_events.SelectorEventLoop = _UnixSelectorEventLoop
asyncio.unix_events.EventLoop = _UnixSelectorEventLoop
asyncio.SelectorEventLoop = _UnixSelectorEventLoop
asyncio.EventLoop = _UnixSelectorEventLoop
asyncio.unix_events._UnixDefaultEventLoopPolicy._loop_factory = _UnixSelectorEventLoop
asyncio.events.BaseDefaultEventLoopPolicy._loop_factory = _UnixSelectorEventLoop
