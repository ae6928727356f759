import type {TaskState} from '../api/types';

export const TASK_STATES: readonly TaskState[] =
  ['running', 'pending', 'scheduled', 'blocked', 'stalled', 'failed', 'cancelled', 'completed'];

export const WAITING_STATES: readonly TaskState[] = ['pending', 'scheduled', 'blocked', 'stalled'];
export const ENDED_STATES: readonly TaskState[] = ['completed', 'failed', 'cancelled'];

export const isEnded = (state: TaskState): boolean => ENDED_STATES.includes(state);
export const isTaskState = (word: string): word is TaskState => (TASK_STATES as readonly string[]).includes(word);

/** What may be done with a task in this state; the server decides, the page only leaves out what it would refuse. */
export const mayRetry = (state: TaskState): boolean => state === 'failed' || state === 'cancelled';
export const mayEdit = (state: TaskState): boolean => WAITING_STATES.includes(state);
export const mayCancel = (state: TaskState): boolean => !isEnded(state);
export const mayEscalate = (state: TaskState): boolean => state === 'failed';
export const mayDelete = isEnded;
