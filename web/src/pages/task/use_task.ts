import {call, callWithText} from '../../api/client';
import type {Event, Explanation, Run, Task} from '../../api/types';
import {useResource, type Resource} from '../../live/resource';

export interface LoadedTask {
  task: Task;
  /** The task as the server wrote it: payload and result keep their number text. */
  text: string;
}

const of = (id: string) => (event: Event): boolean => event.task_id === id;

export function useTask(id: string | null): Resource<LoadedTask> {
  return useResource(id && `task ${id}`, async abort => {
    const {data, text} = await callWithText('GET /v1/tasks/{id}', {path: {id: id!}, signal: abort});
    return {task: data, text};
  }, {on: of(id ?? ''), quietMs: 400});
}

export function useRuns(id: string | null): Resource<Run[]> {
  return useResource(id && `runs ${id}`, async abort => (await call('GET /v1/tasks/{id}/runs', {path: {id: id!}, signal: abort})).runs,
    {on: event => event.task_id === id && event.name !== 'task.progressed', quietMs: 600});
}

/** Why it does not run depends on others too: gates, workers and the line. So it is asked again now and then. */
export function useExplanation(id: string | null): Resource<Explanation> {
  return useResource(id && `explain ${id}`, abort => call('GET /v1/tasks/{id}/explain', {path: {id: id!}, signal: abort}),
    {on: event => event.task_id === id || event.task_id === null, everyMs: 10_000, quietMs: 1000});
}
