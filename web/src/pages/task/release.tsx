// What would release a waiting task, as a button: the gate that refuses it is opened, or its time is brought forward.
import {call} from '../../api/client';
import {may} from '../../api/session';
import type {Explanation, Task} from '../../api/types';
import {drover} from '../../lib/shell';
import {canAct} from '../../live/live';
import {ActionDialog} from '../../ui/action_dialog';
import {showDialog} from '../../ui/dialog';
import {openGateDialog} from '../queues/gate_dialogs';

const BY_HAND = /^(all|(queue|type|owner|lock|provider|session):.+)$/;

function RunNow({task}: {task: Task}) {
  return (
    <ActionDialog title="Run it now" label="Run now" reason="none" command={() => drover('edit', task.id, '--delay', '0s')}
      run={async () => {
        await call('PATCH /v1/tasks/{id}', {path: {id: task.id}, body: {delay: '0s'}});
        return 'It waits for a worker now';
      }}>
      <p>It does not wait for its time any more, and goes to the end of its line.</p>
    </ActionDialog>
  );
}

export function Release({task, explanation}: {task: Task; explanation: Explanation}) {
  const closed = explanation.refusing.find(gate => gate.closed_until !== null && gate.holds.some(hold => hold.source === 'operator' || hold.source === 'provider'));
  if (explanation.reason === 'gate' && closed && BY_HAND.test(closed.name) && may('operate'))
    return <button class="button small" disabled={!canAct.value} onClick={() => openGateDialog(closed.name)}>Open the gate…</button>;
  if (explanation.reason === 'scheduled' && may('produce'))
    return <button class="button small" disabled={!canAct.value} onClick={() => showDialog(() => <RunNow task={task} />)}>Run now…</button>;
  return null;
}
