import asyncio
import sys


async def main():
    p = await asyncio.create_subprocess_exec(sys.executable, "-c", "print(input()[::-1])", stdin=asyncio.subprocess.PIPE,
                                             stdout=asyncio.subprocess.PIPE)
    out, _ = await p.communicate(b"abc\n")
    print(out, p.returncode)


asyncio.run(main())
