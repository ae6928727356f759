"""What the types promise. Checked by mypy, never run: an ignore that is not needed is an error."""

from __future__ import annotations

from typing import List, TypedDict

import drover


class Picture(TypedDict):
    name: str


@drover.task("resize")
def resize(payload: Picture, ctx: drover.Context) -> List[int]:
    ctx.progress("half")  # type: ignore[arg-type]
    return [1, 2]


@drover.task("resize_async")
async def resize_async(payload: Picture, ctx: drover.AsyncContext) -> List[int]:
    await ctx.progress(50)
    return [1, 2]


elsewhere: drover.Task[Picture, List[int]] = drover.Task("resize")


def program(client: drover.Client) -> None:
    sizes: List[int] = resize.enqueue(client, {"name": "cat.png"}).result(timeout=1)
    sizes = client.enqueue(elsewhere, {"name": "cat.png"}, priority="high").result()
    sizes = resize_async.enqueue(client, {"name": "cat.png"}).result()
    text: str = resize.enqueue(client, {"name": "cat.png"}).result()  # type: ignore[assignment]
    resize.enqueue(client, {"title": "cat.png"})  # type: ignore[arg-type]
    resize.enqueue(client, "cat.png")  # type: ignore[arg-type]
    anything = client.enqueue("untyped", {"a": 1}).result()
    anything.anything()
    print(sizes, text)


async def async_program(client: drover.AsyncClient) -> None:
    sizes: List[int] = await (await client.enqueue(resize, {"name": "cat.png"})).result(timeout=1)
    sizes = await (await resize.enqueue_async(client, {"name": "cat.png"})).result()
    print(sizes)
