// How numbers, times and money read. Pure: what depends on the clock takes `now`.

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const two = (value: number) => String(value).padStart(2, '0');

/** "850 ms", "12 s", "3 m 05 s", "2 h 10 m", "4 d 3 h": two units at most, so that columns stay narrow. */
export function duration(ms: number): string {
  if (!Number.isFinite(ms)) return '–';
  const value = Math.max(0, ms);
  if (value < SECOND) return `${Math.round(value)} ms`;
  if (value < 10 * SECOND) return `${(Math.floor(value / 100) / 10).toFixed(1)} s`;
  if (value < MINUTE) return `${Math.floor(value / SECOND)} s`;
  if (value < HOUR) return `${Math.floor(value / MINUTE)} m ${two(Math.floor((value % MINUTE) / SECOND))} s`;
  if (value < DAY) return `${Math.floor(value / HOUR)} h ${two(Math.floor((value % HOUR) / MINUTE))} m`;
  return `${Math.floor(value / DAY)} d ${Math.floor((value % DAY) / HOUR)} h`;
}

/** One unit, for ages in tables: "now", "12 s", "3 m", "2 h", "4 d". */
export function age(ms: number): string {
  const value = Math.max(0, ms);
  if (value < SECOND) return 'now';
  if (value < MINUTE) return `${Math.floor(value / SECOND)} s`;
  if (value < HOUR) return `${Math.floor(value / MINUTE)} m`;
  if (value < 2 * DAY) return `${Math.floor(value / HOUR)} h`;
  return `${Math.floor(value / DAY)} d`;
}

/** "3 m ago", "in 2 h", "just now". */
export function relative(at: number, now: number): string {
  const distance = now - at;
  const text = age(Math.abs(distance));
  if (text === 'now') return 'just now';
  return distance >= 0 ? `${text} ago` : `in ${text}`;
}

/** A countdown: "3:10", "1:02:05". */
export function countdown(ms: number): string {
  const seconds = Math.max(0, Math.ceil(ms / SECOND));
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes}:${two(seconds % 60)}`;
  if (minutes < 48 * 60) return `${Math.floor(minutes / 60)}:${two(minutes % 60)}:${two(seconds % 60)}`;
  return `${Math.floor(minutes / 1440)} d ${Math.floor((minutes % 1440) / 60)} h`;
}

/** "2026-11-18 12:05:09" in local time, or in UTC with a Z. */
export function absolute(at: number, utc: boolean): string {
  const time = new Date(at);
  if (Number.isNaN(time.getTime())) return '–';
  if (utc) return time.toISOString().slice(0, 19).replace('T', ' ') + 'Z';
  return `${time.getFullYear()}-${two(time.getMonth() + 1)}-${two(time.getDate())} ` +
    `${two(time.getHours())}:${two(time.getMinutes())}:${two(time.getSeconds())}`;
}

/** The time of day alone, for logs: "12:05:09.123". */
export function timeOfDay(at: number, utc: boolean): string {
  const time = new Date(at);
  if (Number.isNaN(time.getTime())) return '–';
  if (utc) return time.toISOString().slice(11, 23);
  return `${two(time.getHours())}:${two(time.getMinutes())}:${two(time.getSeconds())}.${String(time.getMilliseconds()).padStart(3, '0')}`;
}

export const parseTime = (text: string | null | undefined): number | null => {
  if (!text) return null;
  const at = Date.parse(text);
  return Number.isNaN(at) ? null : at;
};

const grouped = new Intl.NumberFormat('en', {maximumFractionDigits: 0});

/** "12,431". */
export const count = (value: number): string => grouped.format(value);

/** "940", "12.4k", "3.1M": for places where the width is fixed. */
export function compact(value: number): string {
  if (value < 1000) return String(Math.round(value));
  if (value < 10_000) return `${(Math.floor(value / 100) / 10).toFixed(1)}k`;
  if (value < 1_000_000) return `${Math.floor(value / 1000)}k`;
  if (value < 10_000_000) return `${(Math.floor(value / 100_000) / 10).toFixed(1)}M`;
  return `${Math.floor(value / 1_000_000)}M`;
}

/** "1 task", "12 tasks". */
export const plural = (value: number, one: string, many = one + 's'): string => `${count(value)} ${value === 1 ? one : many}`;

/** "512 B", "1.2 KiB". */
export function bytes(value: number): string {
  if (value < 1024) return `${value} B`;
  const units = ['KiB', 'MiB', 'GiB', 'TiB'];
  let size = value;
  let unit = -1;
  while (size >= 1024 && unit < units.length - 1) {
    size /= 1024;
    unit++;
  }
  return `${size < 10 ? size.toFixed(1) : Math.round(size)} ${units[unit]}`;
}

/** What is unknown is "not reported": $0 is a price, and a different statement. */
export const NOT_REPORTED = 'not reported';

export function money(usd: number | null | undefined): string {
  if (usd === null || usd === undefined) return NOT_REPORTED;
  if (usd === 0) return '$0';
  if (usd < 0.01) return `$${usd.toFixed(4)}`;
  if (usd < 1000) return `$${usd.toFixed(2)}`;
  return `$${count(Math.round(usd))}`;
}

/** The end of a UUIDv7 is what differs between tasks of one minute; its start is the time. */
export const shortId = (id: string): string => (id.length > 12 ? id.slice(-8) : id);

/** A worker's id is host, process and a random part; people know it by the first two. */
export const shortWorker = (id: string): string => id.replace(/:[0-9a-f]{8}-[0-9a-f-]{27}$/, '');

export const percent = (part: number, whole: number): string => (whole > 0 ? `${Math.round((part / whole) * 100)} %` : '–');
