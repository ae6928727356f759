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

function drawWhat(cell: HTMLElement, row: TaskRow): void {
  const isTrouble = row.errorMessage !== '' && row.state !== 'completed';
  const key = `${row.excerpt}\u0000${isTrouble ? row.errorClass + row.errorMessage : ''}\u0000${row.isEscalated}`;
  if (cell.dataset['what'] === key) return;
  cell.dataset['what'] = key;
  const parts: (HTMLElement | Text)[] = [];
  if (row.isEscalated) parts.push(span('what-escalated', 'escalated'));
  parts.push(span('what-text', row.excerpt ? showHidden(row.excerpt) : '(no prompt)'));
  if (isTrouble) parts.push(span('what-error', `${row.errorClass}: ${showHidden(row.errorMessage)}`));
  cell.replaceChildren(...parts);
  cell.title = row.excerpt;
}

function span(className: string, text: string): HTMLElement {
  const element = document.createElement('span');
  element.className = className;
  element.textContent = text;
  return element;
}

function drawProgress(cell: HTMLElement, row: TaskRow): void {
  const key = row.state === 'running' && row.percent !== null ? `${row.percent} ${row.message}` : '';
  if (cell.dataset['progress'] === key) return;
  cell.dataset['progress'] = key;
  if (key === '') {
    cell.replaceChildren();
    cell.title = '';
    return;
  }
  const bar = span('bar', '');
  const fill = document.createElement('span');
  fill.style.width = `${row.percent}%`;
  bar.append(fill);
  cell.replaceChildren(bar, span('progress-text', `${row.percent} % ${row.message}`));
  cell.title = row.message;
}

export const TASK_COLUMNS: readonly Column<TaskRow>[] = [
  {key: 'state', label: 'State', width: '96px', card: 'state', draw: (cell, row) => drawState(cell, row.state, row.isStopping)},
  {key: 'type', label: 'Type', width: 'minmax(80px, 120px)', card: 'meta', draw: (cell, row) => drawText(cell, row.type, row.type, 'strong')},
  {key: 'what', label: 'Prompt', width: 'minmax(180px, 1fr)', card: 'title', isLink: true, draw: drawWhat},
  {key: 'progress', label: 'Progress', width: '150px', from: 1260, card: 'none', draw: drawProgress},
  {key: 'error', label: 'Error', width: '0', from: Infinity, card: 'meta', draw: (cell, row) => drawText(cell, row.state === 'completed' ? '' : row.errorClass, '', 's-failed')},
  {key: 'queue', label: 'Queue', width: 'minmax(50px, 80px)', from: 900, card: 'none', draw: (cell, row) => drawText(cell, row.queue, row.queue, 'soft')},
  {key: 'owner', label: 'Owner', width: 'minmax(50px, 80px)', from: 760, card: 'meta', draw: (cell, row) => drawText(cell, row.owner, row.owner, 'soft')},
  {key: 'priority', label: 'Prio', width: '32px', align: 'end', from: 1180, card: 'none', draw: (cell, row) => drawText(cell, String(row.priority), `priority ${row.priority}; 0 goes first`, row.priority < 5 ? 'strong' : 'faint')},
  {key: 'attempts', label: 'Tries', width: '38px', align: 'end', from: 640, card: 'none', draw: (cell, row) =>
    drawText(cell, row.run === 0 ? '' : `${row.attempts}/${row.maxAttempts}`, row.run === 0 ? '' : `${row.attempts} of ${row.maxAttempts} attempts, ${row.run} runs, generation ${row.generation}`, row.attempts > 1 ? 'warn' : 'faint')},
  {key: 'took', label: 'Took', width: '72px', align: 'end', from: 700, card: 'none', ticks: true, draw: (cell, row, now) => drawText(cell, took(row, now), '', row.state === 'running' ? 'strong' : 'faint')},
  {key: 'cost', label: 'Cost', width: '68px', align: 'end', from: 1060, card: 'none', draw: (cell, row) =>
    drawText(cell, row.cost === undefined ? '' : row.cost === null ? '–' : money(row.cost), row.cost === null ? 'not reported' : '', 'faint')},
  {key: 'worker', label: 'Worker', width: 'minmax(70px, 110px)', from: 1320, card: 'none', draw: (cell, row) => drawText(cell, shortWorker(row.worker), row.worker, 'faint')},
  {key: 'age', label: 'Age', width: '44px', align: 'end', card: 'end', ticks: true, draw: (cell, row, now) =>
    drawText(cell, age(now - row.createdAt), `created ${absolute(row.createdAt, timeZone.peek() === 'utc')}`, 'faint')},
];
