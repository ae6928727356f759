// Where the lines and labels of a chart stand. Pure.

const NICE = [1, 2, 5];

/** The smallest step from `steps` (or of 1, 2, 5, 10, …) that makes at most `lines` lines up to the largest value. */
export function stepFor(largest: number, lines: number, steps?: readonly number[]): number {
  if (largest <= 0) return steps?.[0] ?? 1;
  const wanted = largest / lines;
  const known = steps?.find(step => step >= wanted);
  if (known !== undefined) return known;
  const power = 10 ** Math.floor(Math.log10(wanted));
  return (NICE.find(nice => nice * power >= wanted) ?? 10) * power;
}

/** 0, step, 2 step, …, not beyond the largest value. */
export function linesOf(largest: number, lines: number, steps?: readonly number[]): number[] {
  const step = stepFor(largest, lines, steps);
  const amount = Math.floor(largest / step + 1e-9);
  return Array.from({length: amount + 1}, (_, at) => at * step);
}

const MINUTE = 60;
const HOUR = 3600;
const DAY = 86_400;
const TIME_STEPS = [MINUTE, 5 * MINUTE, 10 * MINUTE, 15 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 2 * DAY, 7 * DAY, 14 * DAY, 28 * DAY, 91 * DAY, 364 * DAY];

/** Indexes of the times (in seconds, at equal distances) that get a label: round ones, at most `most`. `offset` is the zone's, in seconds. */
export function labelled(times: readonly number[], most: number, offset = 0): number[] {
  if (times.length < 2) return times.map((_, at) => at);
  const distance = times[1]! - times[0]!;
  const span = distance * times.length;
  const step = Math.max(distance, TIME_STEPS.find(one => span / one <= Math.max(1, most)) ?? TIME_STEPS.at(-1)!);
  const round = times.map((_, at) => at).filter(at => (times[at]! + offset) % step === 0);
  return round.length ? round : [0];
}
