/**
 * JSON without surprises: integers that a double would round are refused or read as BigInt, and the exact text of a part
 * of a document can be had.
 */

import { Invalid } from "./errors.js";

/** What becomes of integers that are not exact as a JavaScript number. */
export type BigIntegers = "error" | "bigint" | "number";

// Where a number may begin, not inside an id.
const LONG_DIGITS = /(?:^|[\s:,[-])\d{16}/;
// JSON.stringify escapes a surrogate only if it stands alone.
const LONE_SURROGATE = /(?:^|[^\\])(?:\\\\)*\\ud[89a-f]/;
const NUMBER = /-?(?:0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?/y;

export function parseJson(text: string, bigints: BigIntegers): unknown {
  if (bigints === "number" || !LONG_DIGITS.test(text)) return JSON.parse(text);
  JSON.parse(text); // The one judge of what is JSON; the reader below relies on it.
  return new Reader(text, bigints).whole();
}

/** The text of a value, or undefined if it has none (undefined, a function). Throws `Invalid` for what JSON cannot say. */
export function writeJson(value: unknown, bigints: BigIntegers, what: string): string | undefined {
  let text: string | undefined;
  try {
    text = bigints === "bigint" && hasBigInt(value, new Set()) ? writeExactly(value) : (JSON.stringify(value) as string | undefined);
  } catch (error) {
    throw invalid(what, reasonOf(error), error);
  }
  if (text === undefined) return undefined;
  if (LONE_SURROGATE.test(text)) throw invalid(what, "a string has half of a surrogate pair, which UTF-8 cannot express");
  if (bigints === "error" && LONG_DIGITS.test(text)) new Reader(text, "error", what).whole();
  return text;
}

function reasonOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  if (/bigint/i.test(message)) return "it has a BigInt; make the client with {bigints: \"bigint\"} to send it as a number";
  if (/cycl|circular/i.test(message)) return "it refers to itself";
  return message;
}

function invalid(what: string, why: string, cause?: unknown): Invalid {
  return new Invalid({ code: "invalid_json", detail: `${what} cannot be written as JSON: ${why}`, cause });
}

export function hasBigInt(value: unknown, above: Set<object>): boolean {
  if (typeof value === "bigint") return true;
  if (typeof value !== "object" || value === null) return false;
  if (above.has(value)) return false; // JSON.stringify says that it is a cycle
  above.add(value);
  const found = Object.values(value).some((member) => hasBigInt(member, above));
  above.delete(value);
  return found;
}

/** As JSON.stringify, but a BigInt is written as a number. */
function writeExactly(value: unknown): string | undefined {
  const numbers: string[] = [];
  // Private to this call, so no string of the caller's can look like one.
  const mark = `bigint-${Math.random().toString(36).slice(2)}-`;
  const text = JSON.stringify(value, (_key, member: unknown) => {
    if (typeof member !== "bigint") return member;
    numbers.push(member.toString());
    return mark + (numbers.length - 1);
  });
  return text?.replace(new RegExp(`"${mark}(\\d+)"`, "g"), (_whole, index: string) => numbers[Number(index)] as string);
}

/** Reads text that JSON.parse has accepted. */
class Reader {
  private at = 0;

  constructor(
    private readonly text: string,
    private readonly bigints: "error" | "bigint",
    private readonly what = "the answer",
  ) {}

  whole(): unknown {
    return this.value();
  }

  private value(): unknown {
    this.at = skipSpace(this.text, this.at);
    switch (this.text.charCodeAt(this.at)) {
      case 0x7b:
        return this.object();
      case 0x5b:
        return this.array();
      case 0x22:
        return this.string();
      case 0x74:
        return this.word("true", true);
      case 0x66:
        return this.word("false", false);
      case 0x6e:
        return this.word("null", null);
      default:
        return this.number();
    }
  }

  private word<T>(text: string, value: T): T {
    this.at += text.length;
    return value;
  }

  private string(): string {
    const end = skipString(this.text, this.at);
    const value = JSON.parse(this.text.slice(this.at, end)) as string;
    this.at = end;
    return value;
  }

  private number(): number | bigint {
    NUMBER.lastIndex = this.at;
    const match = NUMBER.exec(this.text) as RegExpExecArray;
    this.at += match[0].length;
    const value = Number(match[0]);
    const isInteger = match[1] === undefined && match[2] === undefined;
    if (!isInteger || Number.isSafeInteger(value)) return value;
    if (this.bigints === "bigint") return BigInt(match[0]);
    throw new Invalid({
      code: "unsafe_integer",
      detail:
        `${this.what} has the integer ${match[0]}, which a JavaScript number would round; make the client with ` +
        `{bigints: "bigint"} to use BigInt, or with {bigints: "number"} to accept rounding`,
    });
  }

  private array(): unknown[] {
    const found: unknown[] = [];
    this.at = skipSpace(this.text, this.at + 1);
    while (this.text[this.at] !== "]") {
      found.push(this.value());
      this.at = skipSeparator(this.text, this.at);
    }
    this.at += 1;
    return found;
  }

  private object(): Record<string, unknown> {
    const found: Record<string, unknown> = {};
    this.at = skipSpace(this.text, this.at + 1);
    while (this.text[this.at] !== "}") {
      const key = this.string();
      this.at = skipSpace(this.text, this.at) + 1; // the colon
      // As JSON.parse does: a member of this name, not the prototype.
      Object.defineProperty(found, key, { value: this.value(), enumerable: true, configurable: true, writable: true });
      this.at = skipSeparator(this.text, this.at);
    }
    this.at += 1;
    return found;
  }
}

// --- the exact text of parts of a document ------------------------------------------------------------------------------

/** Where a value stands in a text. */
export type Span = readonly [start: number, end: number];

function skipSpace(text: string, at: number): number {
  for (;;) {
    const char = text.charCodeAt(at);
    if (char !== 0x20 && char !== 0x0a && char !== 0x0d && char !== 0x09) return at;
    at += 1;
  }
}

function skipSeparator(text: string, at: number): number {
  at = skipSpace(text, at);
  return text[at] === "," ? skipSpace(text, at + 1) : at;
}

function skipString(text: string, at: number): number {
  for (let end = text.indexOf('"', at + 1); ; end = text.indexOf('"', end + 1)) {
    let backslashes = 0;
    while (text[end - 1 - backslashes] === "\\") backslashes += 1;
    if (backslashes % 2 === 0) return end + 1;
  }
}

function skipValue(text: string, at: number): number {
  const first = text[at];
  if (first === '"') return skipString(text, at);
  if (first !== "{" && first !== "[") {
    while (at < text.length && !",]} \n\r\t".includes(text[at] as string)) at += 1;
    return at;
  }
  let depth = 0;
  for (;;) {
    const char = text[at];
    if (char === '"') {
      at = skipString(text, at);
      continue;
    }
    if (char === "{" || char === "[") depth += 1;
    if (char === "}" || char === "]") depth -= 1;
    at += 1;
    if (depth === 0) return at;
  }
}

/** The elements of the array at a place. The text must be valid JSON. */
export function elementSpans(text: string, start = 0): Span[] {
  const spans: Span[] = [];
  let at = skipSpace(text, skipSpace(text, start) + 1);
  while (text[at] !== "]") {
    const end = skipValue(text, at);
    spans.push([at, end]);
    at = skipSeparator(text, end);
  }
  return spans;
}

/** The members of the object at a place. The text must be valid JSON. */
export function memberSpans(text: string, start = 0): Map<string, Span> {
  const spans = new Map<string, Span>();
  let at = skipSpace(text, skipSpace(text, start) + 1);
  while (text[at] !== "}") {
    const keyEnd = skipString(text, at);
    const key = JSON.parse(text.slice(at, keyEnd)) as string;
    at = skipSpace(text, skipSpace(text, keyEnd) + 1);
    const end = skipValue(text, at);
    spans.set(key, [at, end]);
    at = skipSeparator(text, end);
  }
  return spans;
}

/** The exact text of a member of the object that a text is, or undefined if it has none of that name. */
export function memberText(text: string, name: string): string | undefined {
  const span = memberSpans(text).get(name);
  return span && text.slice(span[0], span[1]);
}
