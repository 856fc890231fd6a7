"""The synchronous and the asynchronous client behind one face, so that each test is written once."""
import asyncio

import mayfly


class _Async:
    """Every call in an event loop of its own; events are collected."""

    def __init__(self, *args, **options):
        self.client = mayfly.AsyncMayfly(*args, **options)

    def __getattr__(self, name):
        def call(*args, **named):
            if name != "events":
                return asyncio.run(getattr(self.client, name)(*args, **named))

            async def collect():
                return [e async for e in self.client.events(*args, **named)]
            return iter(asyncio.run(collect()))
        return call


KINDS = {"sync": mayfly.Mayfly, "async": _Async}


def raised(call, *args, **named):
    """What it raises; it must."""
    try:
        call(*args, **named)
    except Exception as e:
        return e
    raise AssertionError("%s did not fail" % call)
