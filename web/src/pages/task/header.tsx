import type {Explanation, Task} from '../../api/types';
import {showHidden} from '../../lib/ansi';
import {shortId} from '../../lib/format';
import {href} from '../../router';
import {Sentence} from './explain';
import {Release} from './release';
import {Icon} from '../../ui/icons';
import {State} from '../../ui/state';
import {Time, Took} from '../../ui/time';

const MESSAGE_SHOWN = 600;

/** What is going on with it, in one line: the first question of everybody who opens a task. */
export function Why({task, explanation}: {task: Task; explanation: Explanation | null}) {
  if (task.escalation && task.state === 'failed') {
    return (
      <div class="why failed">
        <Icon name="person" /><span>Escalated to <strong>{showHidden(task.escalation.to)}</strong> by {showHidden(task.escalation.by)}, <Time at={task.escalation.at} />{task.escalation.why && <>: {showHidden(task.escalation.why)}</>}</span>
      </div>
    );
  }
  if (task.state === 'running') {
    return (
      <div class="why running">
        {task.cancel_requested_at ? <span>Asked to stop <Time at={task.cancel_requested_at} />; it ends when its processes are dead.</span> :
          task.progress ? <><div class="bar"><span style={{width: `${task.progress.percent}%`}} /></div><span>{task.progress.percent} % {showHidden(task.progress.message)}</span></> :
            <span>On {task.worker_id ?? 'a worker'} for <Took from={task.started_at} to={null} />; it has reported no progress.</span>}
      </div>
    );
  }
  if (task.state === 'cancelled') return <div class="why"><Icon name="cancelled" /><span>{task.cancel_reason ? showHidden(task.cancel_reason) : 'Cancelled without a reason.'}</span></div>;
  if (task.state !== 'failed' && task.state !== 'completed' && explanation)
    return <div class="why waiting"><Icon name="info" /><span class="grow"><Sentence text={explanation.text} /></span><Release task={task} explanation={explanation} /></div>;
  return null;
}

export function ErrorBox({task}: {task: Task}) {
  if (!task.error || task.state === 'completed') return null;
  const message = showHidden(task.error.message).replaceAll('␊', '\n');
  const isCut = message.length > MESSAGE_SHOWN;
  return (
    <div class="error-box">
      <div class="line">
        <strong>{task.error.class}</strong>
        {task.exit_code !== null && <span>exit code {task.exit_code}</span>}
        <span class="grow" />
        <a href={href('/tasks', {q: `fingerprint:${task.error.fingerprint}`})} title="Tasks that failed in the same way">same kind of failure</a>
      </div>
      {isCut ? <details><summary><pre>{message.slice(0, MESSAGE_SHOWN)}…</pre></summary><pre>{message.slice(MESSAGE_SHOWN)}</pre></details> : <pre tabIndex={0} aria-label="Error">{message}</pre>}
    </div>
  );
}

export function TaskTitle({task, isSmall = false}: {task: Task; isSmall?: boolean}) {
  const Heading = isSmall ? 'h2' : 'h1';
  return (
    <div class="task-title">
      <State state={task.state} stopping={task.cancel_requested_at !== null && task.state === 'running'} />
      <Heading class="clip">{task.type} <span class="mono faint">{shortId(task.id)}</span></Heading>
    </div>
  );
}
