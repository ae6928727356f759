"""drover.TaskQueue: enqueue, dequeue, complete, fail, for programs that were written against a queue of that shape."""

import asyncio
from uuid import uuid4

import drover
from drover.task_queue import Task


async def worker_loop(queue: drover.TaskQueue, tasks: int) -> None:
    agent_id = uuid4()
    await queue.register_worker(agent_id, capacity=1)
    for _ in range(tasks):
        task = await queue.dequeue(agent_id, timeout_ms=5000)
        if task is None:
            break
        process = await asyncio.create_subprocess_exec("tr", "a-z", "A-Z", stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE)
        stdout, _ = await process.communicate(task.prompt.encode())
        if process.returncode == 0:
            await queue.complete(task.id, {"answer": stdout.decode()})
        else:
            await queue.fail(task.id, "tr failed", retryable=True)
    await queue.unregister_worker(agent_id, "no more tasks")


async def main() -> None:
    async with drover.AsyncClient() as client, drover.TaskQueue(client) as queue:
        task_id = await queue.enqueue(Task("shouter", "hello, world", priority=40, user_id="ada"))
        print((await queue.get_status(task_id)).value)
        await worker_loop(queue, tasks=1)
        print((await queue.get(task_id)).result)
        print([one.subagent_type for one in await queue.list_by_user("ada")])


if __name__ == "__main__":
    asyncio.run(main())

# Output:
# pending
# {'answer': 'HELLO, WORLD'}
# ['shouter']
