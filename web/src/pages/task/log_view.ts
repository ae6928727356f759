// Draws the lines that are in sight, and no others. Text nodes only.
import {plainLook, spansOf, stripAnsi, type Span} from '../../lib/ansi';
import {bytes, timeOfDay} from '../../lib/format';
import type {LogLine} from '../../lib/log_lines';

export interface LogLook {
  wrap: boolean;
  times: boolean;
  utc: boolean;
  found: ReadonlySet<number>;
  search: string;
  /** The line that the address names; -1 is none. */
  linked: number;
  current: number;
}

const LINE_PX = 18;
const OVERSCAN = 12;
const SPAN_TEXT_MAX = 20_000;

export class LogView {
  readonly element = document.createElement('div');
  private readonly body = document.createElement('div');
  private lines: readonly LogLine[] = [];
  private look: LogLook = {wrap: false, times: false, utc: false, found: new Set(), search: '', linked: -1, current: -1};
  // Where each line starts, in rows; a line that is wrapped has several.
  private starts: number[] = [];
  private rows = 0;
  private columns = 0;
  private frame = 0;
  private widest = 0;
  private knownHeight = 0;
  private observer: ResizeObserver;
  /** The end is in sight, so new lines keep it there. */
  isAtEnd = true;

  constructor(private onLine: (line: number) => void, private onMove: (isAtEnd: boolean) => void) {
    this.element.className = 'log';
    this.element.tabIndex = 0;
    this.element.setAttribute('role', 'log');
    this.element.setAttribute('aria-live', 'off');
    this.element.setAttribute('aria-label', 'Log');
    this.body.className = 'log-body';
    this.element.append(this.body);
    this.element.addEventListener('scroll', () => this.scrolled(), {passive: true});
    this.element.addEventListener('click', event => {
      const number = (event.target as Element).closest('.log-number');
      if (number instanceof HTMLElement) this.onLine(Number(number.dataset['line']));
    });
    this.observer = new ResizeObserver(() => this.measure());
    this.observer.observe(this.element);
  }

  destroy(): void {
    this.observer.disconnect();
    cancelAnimationFrame(this.frame);
  }

  private scrolled(): void {
    // Another height moves the scroll position, too; only people decide to leave the end.
    if (this.element.clientHeight !== this.knownHeight) return this.later();
    const isAtEnd = this.element.scrollTop + this.element.clientHeight >= this.element.scrollHeight - LINE_PX;
    if (isAtEnd !== this.isAtEnd) {
      this.isAtEnd = isAtEnd;
      this.onMove(isAtEnd);
    }
    this.later();
  }

  setLines(lines: readonly LogLine[], mustFollow: boolean): void {
    this.lines = lines;
    this.arrange();
    if (mustFollow) this.toEnd();
    this.later();
  }

  setLook(look: LogLook): void {
    const needsArranging = look.wrap !== this.look.wrap || look.times !== this.look.times;
    this.look = look;
    if (needsArranging) this.measure();
    this.later();
  }

  toEnd(): void {
    this.element.scrollTop = this.element.scrollHeight;
    this.isAtEnd = true;
  }

  show(line: number): void {
    const top = (this.starts[line] ?? 0) * LINE_PX;
    if (top < this.element.scrollTop || top > this.element.scrollTop + this.element.clientHeight - 3 * LINE_PX)
      this.element.scrollTop = Math.max(0, top - this.element.clientHeight / 3);
    this.later();
  }

  private measure(): void {
    this.knownHeight = this.element.clientHeight;
    const probe = document.createElement('span');
    probe.className = 'log-probe';
    probe.textContent = '0'.repeat(100);
    this.element.append(probe);
    const width = probe.getBoundingClientRect().width / 100;
    probe.remove();
    const gutter = this.look.times ? 150 : 64;
    this.columns = Math.max(20, Math.floor((this.element.clientWidth - gutter - 12) / (width || 7.2)));
    this.arrange();
    if (this.isAtEnd && this.element.clientHeight > 0) this.toEnd();
    this.later();
  }

  private arrange(): void {
    const starts: number[] = new Array<number>(this.lines.length);
    let row = 0;
    let widest = 0;
    this.lines.forEach((line, at) => {
      starts[at] = row;
      const length = line.kind === 'text' ? line.text.length : 0;
      if (!this.look.wrap) widest = Math.max(widest, length);
      row += this.look.wrap && length > this.columns ? Math.max(1, Math.ceil(stripAnsi(line.text).length / this.columns)) : 1;
    });
    this.starts = starts;
    this.rows = row;
    this.widest = Math.min(widest, SPAN_TEXT_MAX);
    this.body.style.height = `${row * LINE_PX + 8}px`;
    this.body.style.minWidth = this.look.wrap ? '' : `calc(${this.widest}ch + 80px)`;
  }

  private later(): void {
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      this.paint();
    });
  }

  private lineAt(row: number): number {
    let low = 0;
    let high = this.starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.starts[middle]! <= row) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  private paint(): void {
    if (!this.lines.length) return this.body.replaceChildren();
    const firstRow = Math.max(0, Math.floor(this.element.scrollTop / LINE_PX) - OVERSCAN);
    const lastRow = Math.min(this.rows, Math.ceil((this.element.scrollTop + this.element.clientHeight) / LINE_PX) + OVERSCAN);
    const drawn: HTMLElement[] = [];
    for (let line = this.lineAt(firstRow); line < this.lines.length && this.starts[line]! < lastRow; line++) drawn.push(this.drawLine(line));
    this.body.replaceChildren(...drawn);
  }

  private drawLine(at: number): HTMLElement {
    const line = this.lines[at]!;
    const element = document.createElement('div');
    element.className = `log-line l-${line.kind} o-${line.stream}${at === this.look.linked ? ' linked' : ''}${at === this.look.current ? ' current' : ''}`;
    element.style.top = `${this.starts[at]! * LINE_PX}px`;
    const number = document.createElement('a');
    number.className = 'log-number';
    number.dataset['line'] = String(at + 1);
    number.textContent = String(at + 1);
    number.title = 'Link to this line';
    element.append(number);
    if (this.look.times) {
      const time = document.createElement('span');
      time.className = 'log-time';
      time.textContent = timeOfDay(Date.parse(line.at), this.look.utc);
      element.append(time);
    }
    const text = document.createElement('span');
    text.className = 'log-text';
    if (line.kind === 'left_out') text.textContent = `… ${bytes(line.leftOutBytes)} left out here; the file on the worker's host has all of it …`;
    else if (line.kind === 'run') text.textContent = `run ${line.run}`;
    else this.drawText(text, line, this.look.found.has(at));
    element.append(text);
    return element;
  }

  private drawText(parent: HTMLElement, line: LogLine, isFound: boolean): void {
    const spans = spansOf(line.text.slice(0, SPAN_TEXT_MAX), line.look ? {...line.look} : plainLook());
    if (!this.look.wrap) return this.drawSpans(parent, spans, isFound);
    const rows = wrapSpans(spans, this.columns);
    rows.forEach((row, at) => {
      if (at > 0) parent.append(document.createElement('br'));
      this.drawSpans(parent, row, isFound);
    });
  }

  private drawSpans(parent: HTMLElement, spans: Span[], isFound: boolean): void {
    for (const {text, className} of spans) {
      const pieces = isFound ? splitAround(text, this.look.search) : [text];
      pieces.forEach((piece, at) => {
        if (piece === '') return;
        if (className === '' && at % 2 === 0) return parent.append(piece);
        const element = document.createElement(at % 2 ? 'mark' : 'span');
        if (className) element.className = className;
        element.textContent = piece;
        parent.append(element);
      });
    }
  }
}

/** Cuts a text so that every second piece is what was searched for. */
export function splitAround(text: string, search: string): string[] {
  const lower = text.toLowerCase();
  const wanted = search.toLowerCase();
  if (!wanted) return [text];
  const pieces: string[] = [];
  let from = 0;
  for (let at = lower.indexOf(wanted); at >= 0; at = lower.indexOf(wanted, from)) {
    pieces.push(text.slice(from, at), text.slice(at, at + wanted.length));
    from = at + wanted.length;
  }
  pieces.push(text.slice(from));
  return pieces;
}

export function wrapSpans(spans: readonly Span[], columns: number): Span[][] {
  const rows: Span[][] = [[]];
  let used = 0;
  for (const span of spans) {
    let text = span.text;
    while (text !== '') {
      if (used === columns) {
        rows.push([]);
        used = 0;
      }
      const piece = text.slice(0, columns - used);
      rows[rows.length - 1]!.push({text: piece, className: span.className});
      used += piece.length;
      text = text.slice(piece.length);
    }
  }
  return rows;
}
