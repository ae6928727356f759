"""The program of docs/guide/from-celery.md as it is with Drover. Run a worker: python3 celery_after.py worker."""

import sys
from typing import List, TypedDict

import drover


class Found(TypedDict):
    city: str
    letters: int


@drover.task("fetch", max_attempts=3, retry="exponential:1s,2,60s", timeout=60)
def fetch(payload: str, ctx: drover.Context) -> Found:
    if payload == "Atlantis":
        raise drover.TaskError("invalid", "no such city")
    if payload == "Oslo" and not ctx.earlier_runs:
        raise ConnectionError("try again")
    return {"city": payload, "letters": len(payload)}


@drover.task("report")
def report(payload: None, ctx: drover.Context) -> int:
    letters: int = sum(parent["result"]["letters"] for parent in ctx.parents())
    return letters


def main(client: drover.Client) -> None:
    cities: List[str] = ["Rome", "Oslo", "Lima"]
    fetches = [fetch.spec(city, ref=city) for city in cities]
    *_, total = client.enqueue_many([*fetches, report.spec(depends_on=[f"@{city}" for city in cities])])
    print(total.result(timeout=60))
    try:
        fetch.enqueue(client, "Atlantis", priority="high").result(timeout=60)
    except drover.TaskFailed as error:
        print("failed:", error.message)


if __name__ == "__main__":
    with drover.Client() as client:
        if "worker" in sys.argv:
            drover.Worker(client, [fetch, report], concurrency=8).run()
        else:
            main(client)

# Output:
# 12
# failed: no such city
