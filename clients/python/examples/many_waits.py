"""asyncio: enqueue a batch, wait for all of it at once, run handlers on the event loop."""

import asyncio

import drover


@drover.task("word_count")
async def word_count(payload: str, ctx: drover.AsyncContext) -> int:
    await ctx.progress(50, "counting")
    return len(payload.split())


async def main() -> None:
    async with drover.AsyncClient() as client:
        texts = ["to be or not to be", "that is the question", ""]
        handles = await client.enqueue_many([(word_count, text) for text in texts])
        worker = drover.AsyncWorker(client, [word_count], concurrency=100)
        working = asyncio.ensure_future(worker.run())
        print(await asyncio.gather(*(handle.result(timeout=30) for handle in handles)))
        worker.stop()
        report = await working
        print(f"{report.completed} completed")


if __name__ == "__main__":
    asyncio.run(main())

# Output:
# [6, 4, 0]
# 3 completed
