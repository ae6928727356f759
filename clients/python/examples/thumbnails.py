"""Enqueue typed tasks, work on them, read their results."""

from typing import TypedDict

import drover


class Picture(TypedDict):
    name: str
    width: int
    height: int


class Size(TypedDict):
    width: int
    height: int


@drover.task("thumbnail", max_attempts=3, timeout=60)
def thumbnail(payload: Picture, ctx: drover.Context) -> Size:
    if payload["width"] <= 0:
        raise drover.TaskError("invalid", f"{payload['name']} has no width")  # trying again would not help
    ctx.log(f"scaling {payload['name']}\n")
    return {"width": 128, "height": 128 * payload["height"] // payload["width"]}


def main() -> None:
    with drover.Client() as client:  # DROVER_STORE and DROVER_TOKEN say where and who
        good = thumbnail.enqueue(client, {"name": "cat.png", "width": 1024, "height": 768}, priority="high")
        bad = thumbnail.enqueue(client, {"name": "broken.png", "width": 0, "height": 1})

        # A worker usually is a process of its own, and runs until it is stopped.
        report = drover.Worker(client, [thumbnail], concurrency=8).run(until_empty=True)
        print(f"{report.completed} completed, {report.failed} failed")

        print(good.result(timeout=10))
        try:
            bad.result(timeout=10)
        except drover.TaskFailed as error:
            print(error.code, "-", error.message)


if __name__ == "__main__":
    main()

# Output:
# 1 completed, 1 failed
# {'width': 128, 'height': 96}
# invalid - broken.png has no width
