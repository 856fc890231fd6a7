# An event loop that is never idle.
# expect: {"status": "failed", "reason": "fuel", "exitCode": null, "signal": null, "limits": {"fuel": 400000000, "wallMs": 60000}, "stdout": {}, "stderr": {}}
import asyncio


async def main():
    while True:
        await asyncio.sleep(0)


asyncio.run(main())
