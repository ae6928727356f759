// Lines out of the records of a log. A record is a piece of what a stream printed: it may end within a line, and the streams of a run
// take turns. Colours carry over from line to line of a stream, as in a terminal.
import type {LogPage} from '../api/types';
import {plainLook, spansOf, stripAnsi, type Look} from './ansi';

export type LogRecord = LogPage['records'][number];

export interface LogLine {
  kind: 'text' | 'left_out' | 'run';
  run: number;
  stream: LogRecord['stream'];
  at: string;
  text: string;
  /** The look that the line starts with; null is plain. */
  look: Look | null;
  leftOutBytes: number;
}

interface Open {
  line: LogLine;
  look: Look;
}

const isPlain = (look: Look): boolean =>
  look.foreground < 0 && look.background < 0 && !look.bold && !look.dim && !look.italic && !look.underline && !look.inverse && !look.strike;

export class LogLines {
  readonly lines: LogLine[] = [];
  lastSeq = 0;
  private open = new Map<string, Open>();
  private looks = new Map<string, Look>();
  private lastRun = 0;

  constructor(private showsRuns: boolean) {}

  add(records: readonly LogRecord[]): void {
    for (const record of records) {
      if (record.seq <= this.lastSeq) continue;
      this.lastSeq = record.seq;
      if (record.stream !== 'transcript') this.addOne(record);  // it has a tab of its own
    }
  }

  private addOne(record: LogRecord): void {
    const base = {run: record.run, stream: record.stream, at: record.at, look: null, leftOutBytes: 0};
    if (this.showsRuns && record.run !== this.lastRun) this.lines.push({...base, kind: 'run', text: ''});
    this.lastRun = record.run;
    if (record.left_out_before > 0) {
      this.lines.push({...base, kind: 'left_out', text: '', leftOutBytes: record.left_out_before});
      this.open.clear();
    }
    const key = `${record.run} ${record.stream}`;
    const parts = record.text.replaceAll('\r\n', '\n').split('\n');
    parts.forEach((part, at) => {
      const isLast = at === parts.length - 1;
      this.addPart(key, base, part, isLast);
    });
  }

  private addPart(key: string, base: Omit<LogLine, 'kind' | 'text'>, part: string, isLast: boolean): void {
    let open = this.open.get(key);
    if (!open) {
      if (isLast && part === '') return;  // the record ended with its line
      const look = this.looks.get(key) ?? plainLook();
      open = {line: {...base, kind: 'text', text: '', look: isPlain(look) ? null : {...look}}, look};
      this.open.set(key, open);
      this.lines.push(open.line);
    }
    open.line.text += part;
    if (isLast) return;
    // The line is whole: what it leaves the colours at is where the next one starts.
    const look = open.line.look ? {...open.line.look} : plainLook();
    if (open.line.text.includes('\u001b')) spansOf(open.line.text, look);
    this.looks.set(key, look);
    this.open.delete(key);
  }
}

/** Lines that contain the text, in capitals or not. */
export function findLines(lines: readonly LogLine[], text: string): number[] {
  const wanted = text.toLowerCase();
  if (!wanted) return [];
  const found: number[] = [];
  lines.forEach((line, at) => {
    if (line.kind === 'text' && stripAnsi(line.text).toLowerCase().includes(wanted)) found.push(at);
  });
  return found;
}
