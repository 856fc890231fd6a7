"""asyncio: everything that needs nobody else."""
import asyncio
import time


async def after(seconds, value):
    await asyncio.sleep(seconds)
    return value


async def counting(n):
    for i in range(n):
        yield i
        await asyncio.sleep(0)


async def main():
    asyncio.get_running_loop().slow_callback_duration = 3600  # a busy machine is not what is tested
    began = time.monotonic()
    print(await asyncio.gather(after(0.06, 1), after(0.02, 2), after(0.04, 3)))
    assert 0.06 <= time.monotonic() - began
    try:
        await asyncio.wait_for(after(60, 1), 0.02)
    except TimeoutError:
        print("timed out")
    try:
        async with asyncio.timeout(0.01):
            await asyncio.Event().wait()
    except TimeoutError:
        print("timed out, too")
    queue = asyncio.Queue(2)

    async def produce():
        for i in range(5):
            await queue.put(i)
        await queue.put(None)

    async def consume():
        got = []
        while (item := await queue.get()) is not None:
            got.append(item)
        return got

    async with asyncio.TaskGroup() as group:
        group.create_task(produce())
        got = group.create_task(consume())
    print(got.result(), [x async for x in counting(3)])
    event = asyncio.Event()
    asyncio.get_running_loop().call_later(0.01, event.set)
    await event.wait()
    task = asyncio.create_task(after(60, 1))
    await asyncio.sleep(0)
    task.cancel()
    try:
        await task
    except asyncio.CancelledError:
        print("cancelled")
    asyncio.get_running_loop().call_soon_threadsafe(print, "called soon")
    done, pending = await asyncio.wait([asyncio.create_task(after(s, s)) for s in (0, 60)],
                                       return_when=asyncio.FIRST_COMPLETED)
    print(len(done), len(pending))
    for task in pending:
        task.cancel()
    async with asyncio.Lock(), asyncio.Semaphore(2):
        pass
    for lacking in (asyncio.to_thread(print), asyncio.open_connection("example.com", 80),
                    asyncio.create_subprocess_exec("true"), asyncio.start_server(print, "localhost", 80)):
        try:
            await lacking
        except (RuntimeError, OSError) as e:
            print(type(e).__name__, e)


asyncio.run(main(), debug=True)
with asyncio.Runner() as runner:
    print(runner.run(after(0, "first")), runner.run(after(0, "second")))
loop = asyncio.new_event_loop()
print(loop.run_until_complete(after(0, "by hand")), loop.is_running())
loop.close()
