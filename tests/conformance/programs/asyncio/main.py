import asyncio
import socket


async def tick(n):
    await asyncio.sleep(0.001 * n)
    return n


async def main():
    print(await asyncio.gather(*map(tick, range(5))))
    try:
        async with asyncio.timeout(0.01):
            await asyncio.sleep(30)
    except TimeoutError:
        print("timeout")
    print(await asyncio.to_thread(sum, range(10)))
    a, b = socket.socketpair()
    reader, first = await asyncio.open_connection(sock=a)
    _, second = await asyncio.open_connection(sock=b)
    second.write(b"over a pair\n")
    print(await reader.readline())
    first.close()
    second.close()


asyncio.run(main())
