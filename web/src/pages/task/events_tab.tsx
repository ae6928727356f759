import {call} from '../../api/client';
import type {Event, Task} from '../../api/types';
import {showHidden} from '../../lib/ansi';
import {absolute, parseTime} from '../../lib/format';
import {timeZone} from '../../lib/settings';
import {useResource} from '../../live/resource';
import {Empty, Loading, Problem} from '../../ui/empty';
import {State} from '../../ui/state';

const PAGE = 1000;
const PAGES_MAX = 20;

// A call looks at a bounded number of events, so the beginning of an old task takes several.
async function eventsOf(id: string, abort: AbortSignal): Promise<{events: Event[]; isCut: boolean}> {
  const events: Event[] = [];
  let after = 0;
  for (let page = 0; page < PAGES_MAX; page++) {
    const answer = await call('GET /v1/tasks/{id}/events', {path: {id}, query: {after, limit: PAGE}, signal: abort});
    events.push(...answer.events);
    after = answer.next;
    if (!answer.more) return {events, isCut: false};
  }
  return {events, isCut: true};
}

function describeData(data: Event['data']): string {
  return Object.entries(data).filter(([, value]) => value !== null && value !== '')
    .map(([name, value]) => `${name}: ${typeof value === 'object' ? JSON.stringify(value) : String(value)}`).join(' · ');
}

export function EventsTab({task}: {task: Task}) {
  const loaded = useResource(`events ${task.id}`, abort => eventsOf(task.id, abort), {on: event => event.task_id === task.id, quietMs: 1500});
  const data = loaded.data.value;
  if (!data) return loaded.error.value ? <Problem text={loaded.error.value} retry={loaded.reload} /> : <Loading label="Reading events" />;
  if (!data.events.length) return <Empty icon="tasks" title="Its events are gone" command={`drover events --task ${task.id}`}>Events are kept for a while only (the policy's <code>event_retention</code>).</Empty>;
  return (
    <div class="tab-stack">
      {loaded.error.value && <Problem text={loaded.error.value} retry={loaded.reload} />}
      {data.isCut && <p class="faint">There are more events than are shown.</p>}
      <div class="events" role="table" aria-label="Events">
        {[...data.events].reverse().map(event => (
          <div key={event.seq} class="event-line" role="row">
            <span role="cell" class="faint mono">{event.seq}</span>
            <span role="cell" class="time soft">{absolute(parseTime(event.at) ?? 0, timeZone.value === 'utc')}</span>
            <strong role="cell">{event.name.replace(/^task\./, '')}</strong>
            <span role="cell">{event.state && <State state={event.state} />}</span>
            <span role="cell" class="event-data soft">{showHidden(describeData(event.data))}</span>
          </div>
        ))}
      </div>
    </div>
  );
}
