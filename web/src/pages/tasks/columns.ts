import {absolute, age, duration, money, shortWorker} from '../../lib/format';
import {showHidden} from '../../lib/ansi';
import {timeZone} from '../../lib/settings';
import {drawState} from '../../ui/state';
import {drawText, type Column} from '../../ui/table';
import type {TaskRow} from './task_row';

/** How long it ran, or runs. */
function took(row: TaskRow, now: number): string {
  if (row.startedAt === null) return '';
  if (row.state === 'running') return duration(now - row.startedAt);
  return row.finishedAt === null ? '' : duration(row.finishedAt - row.startedAt);
}

// The prompt, and beside it what matters most about the task now: how far it is, or what went wrong.
function drawWhat(cell: HTMLElement, row: TaskRow): void {
  const isTrouble = row.errorMessage !== '' && row.state !== 'completed';
  const progress = row.state === 'running' && row.percent !== null ? `${row.percent} % ${row.message}` : '';
  const key = [row.excerpt, isTrouble ? row.errorClass + row.errorMessage : '', progress, row.isEscalated].join('\u0000');
  if (cell.dataset['what'] === key) return;
  cell.dataset['what'] = key;
  const parts: HTMLElement[] = [];
  if (row.isEscalated) parts.push(span('what-escalated', 'escalated'));
  parts.push(span('what-text', row.excerpt ? showHidden(row.excerpt) : '(no prompt)'));
  if (progress) parts.push(progressOf(row.percent!, showHidden(progress)));
  else if (isTrouble) parts.push(span('what-error', `${row.errorClass}: ${showHidden(row.errorMessage)}`));
  cell.replaceChildren(...parts);
  cell.title = row.excerpt;
}

function progressOf(percent: number, text: string): HTMLElement {
  const element = span('what-progress', '');
  const bar = span('bar', '');
  const fill = span('', '');
  fill.style.width = `${percent}%`;
  bar.append(fill);
  element.append(bar, span('clip', text));
  return element;
}

function span(className: string, text: string): HTMLElement {
  const element = document.createElement('span');
  element.className = className;
  element.textContent = text;
  return element;
}

export const TASK_COLUMNS: readonly Column<TaskRow>[] = [
  {key: 'state', label: 'State', width: '96px', card: 'state', draw: (cell, row) => drawState(cell, row.state, row.isStopping)},
  {key: 'type', label: 'Type', width: 'clamp(64px, 11%, 120px)', card: 'meta', draw: (cell, row) => drawText(cell, row.type, row.type, 'cell-strong')},
  {key: 'what', label: 'Prompt', width: 'minmax(180px, 1fr)', card: 'title', isLink: true, draw: drawWhat},
  {key: 'error', label: 'Error', width: '0', from: Infinity, card: 'meta', draw: (cell, row) => drawText(cell, row.state === 'completed' ? '' : row.errorClass, '', 's-failed')},
  {key: 'queue', label: 'Queue', width: 'minmax(50px, 80px)', from: 900, card: 'none', draw: (cell, row) => drawText(cell, row.queue, row.queue, 'soft')},
  {key: 'owner', label: 'Owner', width: 'minmax(50px, 80px)', from: 760, card: 'meta', draw: (cell, row) => drawText(cell, row.owner, row.owner, 'soft')},
  {key: 'priority', label: 'Prio', width: '32px', align: 'end', from: 1180, card: 'none', draw: (cell, row) => drawText(cell, String(row.priority), `priority ${row.priority}; 0 goes first`, row.priority < 5 ? 'cell-strong' : 'faint')},
  {key: 'attempts', label: 'Tries', width: '38px', align: 'end', from: 640, card: 'none', draw: (cell, row) =>
    drawText(cell, row.run === 0 ? '' : `${row.attempts}/${row.maxAttempts}`, row.run === 0 ? '' : `${row.attempts} of ${row.maxAttempts} attempts, ${row.run} runs, generation ${row.generation}`, row.attempts > 1 ? 'warn' : 'faint')},
  {key: 'took', label: 'Took', width: '72px', align: 'end', from: 700, card: 'none', ticks: true, draw: (cell, row, now) => drawText(cell, took(row, now), '', row.state === 'running' ? 'cell-strong' : 'faint')},
  {key: 'cost', label: 'Cost', width: '68px', align: 'end', from: 1060, card: 'none', draw: (cell, row) =>
    drawText(cell, row.cost === undefined ? '' : row.cost === null ? '–' : money(row.cost), row.cost === null ? 'not reported' : '', 'faint')},
  {key: 'worker', label: 'Worker', width: 'minmax(70px, 110px)', from: 1320, card: 'none', draw: (cell, row) => drawText(cell, shortWorker(row.worker), row.worker, 'faint')},
  {key: 'age', label: 'Age', width: '44px', align: 'end', card: 'end', ticks: true, draw: (cell, row, now) =>
    drawText(cell, age(now - row.createdAt), `created ${absolute(row.createdAt, timeZone.peek() === 'utc')}`, 'faint')},
];
