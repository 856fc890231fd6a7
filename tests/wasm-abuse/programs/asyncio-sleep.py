# An event loop that waits for nothing.
# expect: {"status": "timed_out", "reason": "wall_time", "exitCode": null, "signal": null, "limits": {"fuel": 1000000000000000, "wallMs": 1500}, "stdout": {}, "stderr": {}}
import asyncio


async def main():
    await asyncio.get_running_loop().create_future()


asyncio.run(main())
