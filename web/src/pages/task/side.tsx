import type {ComponentChildren} from 'preact';
import type {Task} from '../../api/types';
import {count, duration, money, NOT_REPORTED, shortId} from '../../lib/format';
import {href} from '../../router';
import {Copyable} from '../../ui/command';
import {Time} from '../../ui/time';

function UsageCard({task}: {task: Task}) {
  const {usage} = task;
  return (
    <section class="side-card">
      <h2>Usage</h2>
      {usage ? (
        <dl class="facts">
          <dt>Cost</dt>
          <dd>{money(usage.cost_usd)}{usage.cost_basis === 'table' ? <span class="faint"> by price table</span> : null}
            {(usage.unpriced_tokens ?? 0) > 0 && <span class="faint"> + {count(usage.unpriced_tokens!)} tokens without a price</span>}</dd>
          <dt>Tokens</dt>
          <dd>{count(usage.input_tokens ?? 0)} in, {count(usage.output_tokens ?? 0)} out{(usage.cached_input_tokens ?? 0) > 0 ? `, ${count(usage.cached_input_tokens!)} cached` : ''}</dd>
          <dt>Turns</dt><dd>{count(usage.turns ?? 0)}, {count(usage.tool_calls ?? 0)} tool calls</dd>
          {Object.keys(usage.models ?? {}).length > 0 && <><dt>Models</dt><dd>{Object.keys(usage.models!).join(', ')}</dd></>}
        </dl>
      ) : <p class="faint">{task.run === 0 ? 'Nothing has run yet.' : `Cost and tokens: ${NOT_REPORTED}.`}</p>}
    </section>
  );
}

function Fact({name, children}: {name: string; children: ComponentChildren}) {
  return <><dt>{name}</dt><dd>{children}</dd></>;
}

/** What belongs to a task beside its story: times, limits, ids. */
export function Facts({task}: {task: Task}) {
  return (
    <>
      <UsageCard task={task} />
      <section class="side-card">
        <h2>Task</h2>
        <dl class="facts">
          <Fact name="Queue"><a href={href('/tasks', {q: `queue:${task.queue}`})}>{task.queue}</a></Fact>
          <Fact name="Owner"><a href={href('/tasks', {q: `owner:${task.owner}`})}>{task.owner}</a></Fact>
          <Fact name="Priority">{task.priority} <span class="faint">(0 goes first)</span></Fact>
          {task.tags.length > 0 && <Fact name="Tags"><span class="chips">{task.tags.map(tag => <a key={tag} class="tag" href={href('/tasks', {q: `tag:${tag}`})}>{tag}</a>)}</span></Fact>}
          {task.model && <Fact name="Model">{task.model}</Fact>}
          {task.worker_id && <Fact name="Worker"><a href={href('/tasks', {q: `worker:${task.worker_id}`})}>{task.worker_id}</a></Fact>}
          <Fact name="Created"><Time at={task.created_at} /></Fact>
          {task.run_at && task.state === 'scheduled' && <Fact name="Runs"><Time at={task.run_at} /></Fact>}
          {task.started_at && <Fact name="Started"><Time at={task.started_at} /></Fact>}
          {task.finished_at && <Fact name="Finished"><Time at={task.finished_at} /></Fact>}
          {task.deadline_at && <Fact name="Deadline"><Time at={task.deadline_at} /></Fact>}
          <Fact name="Attempts">{task.attempts} of {task.max_attempts}{task.defers > 0 ? `, ${task.defers} defers` : ''}{task.stalls > 0 ? `, ${task.stalls} stalls` : ''}{task.suspends > 0 ? `, ${task.suspends} suspends` : ''}</Fact>
          <Fact name="Retry"><span class="mono">{task.retry}</span></Fact>
          <Fact name="Timeout">{duration(task.timeout_ms)}, idle {duration(task.idle_timeout_ms)}</Fact>
          {task.locks.length > 0 && <Fact name="Locks">{task.locks.join(', ')}</Fact>}
          {task.exit_code !== null && <Fact name="Exit code">{task.exit_code}</Fact>}
          {task.at_most_once && <Fact name="Runs">at most once</Fact>}
        </dl>
      </section>
      <section class="side-card">
        <h2>Ids</h2>
        <dl class="facts">
          <Fact name="Id"><Copyable text={task.id} /></Fact>
          {task.parent_id && <Fact name="Spawner"><a class="mono" href={href(`/tasks/${task.parent_id}`)}>{shortId(task.parent_id)}</a></Fact>}
          {task.request_id && <Fact name="Request"><Copyable text={task.request_id} /></Fact>}
          {task.dedupe_key && <Fact name="Dedupe"><Copyable text={task.dedupe_key} /></Fact>}
          {task.agent?.session_id && <Fact name="Session"><Copyable text={task.agent.session_id} /></Fact>}
          {task.agent?.workspace && <Fact name="Workspace"><span class="mono">{task.agent.host}:{task.agent.workspace}</span></Fact>}
          {task.traceparent && <Fact name="Trace"><Copyable text={task.traceparent} /></Fact>}
        </dl>
      </section>
    </>
  );
}
