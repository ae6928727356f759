import type {TaskState} from '../api/types';
import {Icon, iconElement} from './icons';

/** A state is an icon, a word and a colour; never a colour alone. `stopping` is a running task that was asked to stop. */
export function State({state, stopping = false}: {state: TaskState; stopping?: boolean}) {
  return (
    <span class={`state s-${stopping ? 'stalled' : state}`}>
      <Icon name={stopping ? 'stop' : state} />
      <span>{stopping ? 'stopping' : state}</span>
    </span>
  );
}

/** The same into a cell of a table; does nothing if the cell shows it already. */
export function drawState(cell: HTMLElement, state: TaskState, stopping = false): void {
  const shown = stopping ? 'stopping' : state;
  if (cell.dataset['shown'] === shown) return;
  cell.dataset['shown'] = shown;
  const span = document.createElement('span');
  span.className = `state s-${stopping ? 'stalled' : state}`;
  const word = document.createElement('span');
  word.textContent = shown;
  span.append(iconElement(stopping ? 'stop' : state), word);
  cell.replaceChildren(span);
}
