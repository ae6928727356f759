"""A long task that can be stopped at any time and goes on where it was."""

import threading

import drover

PAGES = 10


@drover.task("crawl", retry="fixed:10ms")
def crawl(payload: str, ctx: drover.Context) -> str:
    first = (ctx.checkpoint_value or 0) + 1
    for page in range(first, PAGES + 1):
        if ctx.cancelled():  # cancelled, out of time, lease lost, or the worker shuts down: ctx.reason says which
            raise RuntimeError("stopped")
        ctx.checkpoint(page)
        ctx.progress(100 * page // PAGES, f"page {page}")
        if page == 4 and not ctx.earlier_runs:
            raise ConnectionError("the site hung up")  # tried again, from page 5 on
    return f"pages {first} to {PAGES} in run {ctx.task['run']}"


@drover.task("nap")
def nap(payload: None, ctx: drover.Context) -> None:
    napping.set()
    ctx.wait_cancelled()  # for as long as nobody wants it to end


napping = threading.Event()


def main() -> None:
    with drover.Client() as client:
        worker = drover.Worker(client, [crawl, nap], concurrency=2, lease=6, heartbeat=0.5)
        working = threading.Thread(target=worker.run, kwargs={"signals": False})
        working.start()
        print(crawl.enqueue(client, "https://example.org").result(timeout=30))

        handle = nap.enqueue(client)
        napping.wait(30)
        handle.cancel("time to get up")
        try:
            handle.result(timeout=30)
        except drover.TaskCancelled as error:
            print("cancelled:", error.reason)
        worker.stop()
        working.join()


if __name__ == "__main__":
    main()

# Output:
# pages 5 to 10 in run 2
# cancelled: time to get up
