// What every peer's script does: one phase per process, told as one line of JSON.
//
//   node SCRIPT enqueue|bulk|drain|latency ADDRESS COUNT
//
// A peer gives an async function for each phase that it knows. `latency` gives milliseconds, one per task; the other phases
// are timed here, after what they prepare.

export const payload = { text: "x".repeat(189) }; // 200 bytes as JSON

export const nowMs = () => Number(process.hrtime.bigint()) / 1e6;

const percentile = (samples, share) => samples.sort((a, b) => a - b)[Math.round((samples.length - 1) * share)];

export async function run(phases) {
  const [phase, address, count] = process.argv.slice(2);
  const measure = phases[phase];
  if (!measure) throw new Error(`no such phase: ${phase}`);
  if (phase === "latency") {
    const samples = await measure(address, Number(count));
    console.log(JSON.stringify({ p50_ms: percentile(samples, 0.5), p99_ms: percentile(samples, 0.99) }));
  } else {
    const work = await measure(address, Number(count));
    const started = nowMs();
    await work();
    console.log(JSON.stringify({ per_s: (Number(count) * 1000) / (nowMs() - started) }));
  }
  process.exit(0);
}

// From each answer of `enqueue` to the moment at which `started` is called, with a pause between them.
export async function latencies(count, enqueue, handlerStart) {
  const samples = [];
  for (let i = 0; i < count; i++) {
    const start = handlerStart();
    await enqueue();
    const answered = nowMs();
    samples.push(Math.max((await start) - answered, 0));
    await new Promise((resolve) => setTimeout(resolve, 3));
  }
  return samples.slice(1); // the first warms up
}

// A promise of the next call, and the function to call.
export function marker() {
  let resolve = () => {};
  return {
    next: () => new Promise((done) => (resolve = done)),
    mark: () => resolve(nowMs()),
  };
}
