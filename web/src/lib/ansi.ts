// Output of programs, made safe to show: colours become classes, everything else that a terminal would obey is dropped or made
// visible. The result is plain text in spans; nothing here is ever parsed as HTML.

/** The look at some place of the text; classes are `a-…` in styles/log.css. */
export interface Look {
  foreground: number;  // 0 to 15, or -1
  background: number;
  bold: boolean;
  dim: boolean;
  italic: boolean;
  underline: boolean;
  inverse: boolean;
  strike: boolean;
}

export interface Span {
  text: string;
  className: string;
}

export const plainLook = (): Look => ({
  foreground: -1, background: -1, bold: false, dim: false, italic: false, underline: false, inverse: false, strike: false,
});

function classOf(look: Look): string {
  const classes: string[] = [];
  if (look.foreground >= 0) classes.push(`a-f${look.foreground}`);
  if (look.background >= 0) classes.push(`a-b${look.background}`);
  if (look.bold) classes.push('a-bold');
  if (look.dim) classes.push('a-dim');
  if (look.italic) classes.push('a-italic');
  if (look.underline) classes.push('a-underline');
  if (look.inverse) classes.push('a-inverse');
  if (look.strike) classes.push('a-strike');
  return classes.join(' ');
}

/** The nearest of the sixteen colours that have a checked contrast. */
export function nearestOf16(red: number, green: number, blue: number): number {
  const most = Math.max(red, green, blue);
  const least = Math.min(red, green, blue);
  if (most - least < 32) return most < 64 ? 0 : most < 128 ? 8 : most < 208 ? 7 : 15;
  const middle = (most + least) / 2;
  const hue = (red > middle ? 1 : 0) | (green > middle ? 2 : 0) | (blue > middle ? 4 : 0);
  return hue + (most > 192 ? 8 : 0);
}

function from256(index: number): number {
  if (index < 16) return index;
  if (index >= 232) {
    const level = (index - 232) * 10 + 8;
    return nearestOf16(level, level, level);
  }
  const level = (part: number) => (part === 0 ? 0 : part * 40 + 55);
  const cube = index - 16;
  return nearestOf16(level(Math.floor(cube / 36)), level(Math.floor(cube / 6) % 6), level(cube % 6));
}

// 38 and 48 take more numbers: 5;N or 2;R;G;B. Answers how many it used.
function extendedColour(codes: number[], at: number, set: (colour: number) => void): number {
  if (codes[at + 1] === 5) {
    const index = codes[at + 2] ?? 0;
    if (index >= 0 && index < 256) set(from256(index));
    return 2;
  }
  if (codes[at + 1] === 2) {
    set(nearestOf16(codes[at + 2] ?? 0, codes[at + 3] ?? 0, codes[at + 4] ?? 0));
    return 4;
  }
  return 0;
}

function applySgr(look: Look, parameters: string): void {
  const codes = parameters.split(/[;:]/).slice(0, 64).map(part => (part === '' ? 0 : Number(part)));
  for (let at = 0; at < codes.length; at++) {
    const code = codes[at] ?? 0;
    if (code === 0) Object.assign(look, plainLook());
    else if (code === 1) look.bold = true;
    else if (code === 2) look.dim = true;
    else if (code === 3) look.italic = true;
    else if (code === 4) look.underline = true;
    else if (code === 7) look.inverse = true;
    else if (code === 9) look.strike = true;
    else if (code === 22) look.bold = look.dim = false;
    else if (code === 23) look.italic = false;
    else if (code === 24) look.underline = false;
    else if (code === 27) look.inverse = false;
    else if (code === 29) look.strike = false;
    else if (code >= 30 && code <= 37) look.foreground = code - 30;
    else if (code === 38) at += extendedColour(codes, at, colour => (look.foreground = colour));
    else if (code === 39) look.foreground = -1;
    else if (code >= 40 && code <= 47) look.background = code - 40;
    else if (code === 48) at += extendedColour(codes, at, colour => (look.background = colour));
    else if (code === 49) look.background = -1;
    else if (code >= 90 && code <= 97) look.foreground = code - 90 + 8;
    else if (code >= 100 && code <= 107) look.background = code - 100 + 8;
  }
}

// CSI … final; OSC, DCS, SOS, PM and APC with all that they carry, ended or not; other escapes of two or three characters.
// The C1 forms (0x80 to 0x9f) mean the same to some terminals.
const ESCAPE =
  /(?:\u001b\[|\u009b)([0-?]*)[ -\/]*([@-~])?|(?:\u001b[\]PX^_]|[\u0090\u0098\u009d\u009e\u009f])[^\u0007\u001b\u009c]*(?:\u0007|\u001b\\|\u009c)?|\u001b[ -\/]*[0-~]?/g;

// Controls that text must not carry unseen: they turn what is read around, or hide it.
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]/g;

function visible(character: string): string {
  const code = character.charCodeAt(0);
  if (code < 0x20) return String.fromCharCode(0x2400 + code);  // the symbols for control characters
  if (code === 0x7f) return '\u2421';
  return `\u27e8U+${code.toString(16).toUpperCase().padStart(4, '0')}\u27e9`;
}

/** Text without escapes in it, hidden controls made visible. Also for names, messages and errors. */
export const showHidden = (text: string): string => text.replace(HIDDEN, visible);

/** One line without its escapes and colours, for searching and copying. */
export const stripAnsi = (line: string): string => showHidden(overwrite(line).replace(ESCAPE, ''));

// A carriage return starts the line over, as progress bars do: the last text that is not empty is what a terminal would show.
function overwrite(line: string): string {
  if (!line.includes('\r')) return line;
  const parts = line.split('\r');
  for (let at = parts.length - 1; at > 0; at--) if (parts[at] !== '') return parts[at]!;
  return parts[0]!;
}

/** The spans of one line. `look` carries over from line to line, as in a terminal, and is changed. */
export function spansOf(line: string, look: Look): Span[] {
  const text = overwrite(line);
  const spans: Span[] = [];
  const push = (piece: string) => {
    if (piece === '') return;
    const className = classOf(look);
    const last = spans[spans.length - 1];
    const shown = showHidden(piece);
    if (last && last.className === className) last.text += shown;
    else spans.push({text: shown, className});
  };
  if (!text.includes('\u001b') && !/[\u0080-\u009f]/.test(text)) {
    push(text);
    return spans;
  }
  let from = 0;
  ESCAPE.lastIndex = 0;
  for (let match = ESCAPE.exec(text); match; match = ESCAPE.exec(text)) {
    push(text.slice(from, match.index));
    if (match[2] === 'm') applySgr(look, match[1] ?? '');
    from = match.index + match[0].length;
  }
  push(text.slice(from));
  return spans;
}
