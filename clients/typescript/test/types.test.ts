/** What the compiler infers. Wrong types fail to compile; running it proves nothing more. */

import { it } from "node:test";
import { Client, type Handle, type PayloadOf, type ResultOf, taskType, Worker } from "drover-client";

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const same = <A, B>(_proof: Same<A, B>): void => undefined;

interface Resize {
  width: number;
}
const resize = taskType<Resize, string>("resize");
const tick = taskType<undefined, void>("tick");
const loose = taskType("loose");

/** Only compiled. */
async function compiled(client: Client, worker: Worker): Promise<void> {
  const handle = await client.enqueue(resize, { width: 1 }, { priority: "high", delay: "1s" });
  same<typeof handle, Handle<string>>(true);
  same<Awaited<ReturnType<typeof handle.result>>, string>(true);
  await client.enqueue(tick);
  await client.enqueue(tick, undefined, { queue: "q" });
  await client.enqueue(loose, { anything: 1 });
  await client.enqueue("plain", { anything: 1 });
  same<Awaited<ReturnType<typeof client.enqueue>>, Handle<unknown>>(true);

  // @ts-expect-error: a payload of another type
  await client.enqueue(resize, { height: 1 });
  // @ts-expect-error: the payload is missing
  await client.enqueue(resize);
  // @ts-expect-error: no such option
  await client.enqueue(resize, { width: 1 }, { priorty: 1 });

  const [one, two, three] = await client.enqueueMany([resize.with({ width: 1 }), tick.with(), { type: "plain" }]);
  same<typeof one, Handle<string>>(true);
  same<typeof two, Handle<void>>(true);
  same<typeof three, Handle<unknown>>(true);
  // @ts-expect-error: a payload of another type
  resize.with({ width: "1" });

  worker.handle(resize, ({ width }) => width.toFixed());
  worker.handle(resize, async ({ width }, context) => `${width} ${context.task.id}`);
  worker.handle("plain", (payload: { a: number }) => payload.a);
  // @ts-expect-error: a result of another type
  worker.handle(resize, ({ width }) => width);
  // @ts-expect-error: no such member of the payload
  worker.handle(resize, ({ height }) => String(height));

  same<PayloadOf<typeof resize>, Resize>(true);
  same<ResultOf<typeof resize>, string>(true);
  for await (const event of client.events()) {
    if (event.kind === "gap") same<typeof event.after, number>(true);
    else same<typeof event.name, string>(true);
  }
}

it("types are inferred", () => void compiled);
