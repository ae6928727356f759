"""A task that splits its work, waits for the parts without holding a slot, and joins what they produced."""

from typing import List, Optional

import drover


@drover.task("square")
def square(payload: int, ctx: drover.Context) -> int:
    return payload * payload


@drover.task("sum_of_squares", on_parent_failure="fail")
def sum_of_squares(payload: List[int], ctx: drover.Context) -> Optional[int]:
    if ctx.task["suspends"] == 0:
        ctx.spawn([(square, number) for number in payload], key="squares")  # the same children if this run is repeated
        ctx.wait_children()
        return None
    total: int = sum(parent["result"] for parent in ctx.parents())
    return total


def main() -> None:
    with drover.Client() as client:
        handle = sum_of_squares.enqueue(client, [1, 2, 3, 4])
        # One slot is enough: while it waits, the task has none.
        report = drover.Worker(client, [square, sum_of_squares], concurrency=1).run(until_empty=True)
        print(f"{report.suspended} suspended, {report.completed} completed")
        print(handle.result(timeout=10))


if __name__ == "__main__":
    main()

# Output:
# 1 suspended, 5 completed
# 30
