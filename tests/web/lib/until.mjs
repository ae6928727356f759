// Bounded waiting on conditions.

/** Waits until `holds` gives something true, and gives that back; fails with what it waited for. */
export async function until(what, holds, ms = 10_000) {
  const end = performance.now() + ms;
  for (;;) {
    const value = await holds();
    if (value) return value;
    if (performance.now() > end) throw new Error(`waited ${ms} ms in vain: ${what}`);
    await new Promise(resolve => setTimeout(resolve, 20));
  }
}

export function check(truth, message) {
  if (!truth) throw new Error(message);
}

export function same(actual, expected, what) {
  const [one, other] = [JSON.stringify(actual), JSON.stringify(expected)];
  if (one !== other) throw new Error(`${what}: expected ${other}, not ${one}`);
}

/** A generator of numbers from 0 to 1 that gives the same ones for the same seed. */
export function seeded(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
