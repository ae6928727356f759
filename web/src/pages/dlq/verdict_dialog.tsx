// A verdict over all dead letters of one kind. The server counts them first and carries it out; a patch is shown live on the example.
import {useEffect, useState} from 'preact/hooks';
import {call, callWithText, describe} from '../../api/client';
import type {BulkPreview, ErrorGroup} from '../../api/types';
import {showHidden} from '../../lib/ansi';
import {serverNow} from '../../lib/clock';
import {plural, shortId} from '../../lib/format';
import {differences, mergePatch} from '../../lib/json_diff';
import {member, parseJsonText, pretty, textOf} from '../../lib/json_text';
import {commandOf, missing, orderOf, type Verdict, type VerdictDetails} from '../../lib/verdict';
import {ActionDialog} from '../../ui/action_dialog';
import {Differences} from '../../ui/differences';
import {showDialog} from '../../ui/dialog';
import {Problem} from '../../ui/empty';
import {watchOperations} from './operations';

interface Words {
  title: string;
  label: string;
  says: string;
}

export const VERDICT_WORDS: Record<Verdict, Words> = {
  retry: {title: 'Retry', label: 'Retry', says: 'Each starts a new generation: its attempts count from zero, its earlier runs stay on record.'},
  patch: {title: 'Patch and retry', label: 'Patch and retry', says: 'The patch is merged into the payload of each task, then it is retried.'},
  wait: {title: 'Retry later', label: 'Retry later', says: 'They are scheduled, and start by themselves when the time has come.'},
  escalate: {title: 'Escalate', label: 'Escalate', says: 'They stay dead letters, and somebody has them. They show up under Needs you.'},
  delete: {title: 'Delete', label: 'Delete', says: 'Tasks, logs and results are gone for good; only their events stay.'},
};

/** The payload of a task as it is written. */
export function payloadText(taskText: string): string {
  const payload = member(parseJsonText(taskText), 'payload');
  return payload ? textOf(taskText, payload) : 'null';
}

function PatchOnExample({example, patch}: {example: string; patch: string}) {
  const [payload, setPayload] = useState<string | null>(null);
  const [problem, setProblem] = useState('');
  useEffect(() => {
    callWithText('GET /v1/tasks/{id}', {path: {id: example}}).then(answer => setPayload(payloadText(answer.text)), error => setProblem(describe(error)));
  }, [example]);
  if (problem) return <Problem text={problem} />;
  if (payload === null) return <div class="text-block faint">Loading the example…</div>;
  const after = mergePatch(payload, patch.trim() || '{}');
  const found = after === null ? null : differences(payload, after);
  const shown = parseJsonText(after ?? payload);
  return (
    <div class="stack" aria-live="polite">
      <h3>On the example {shortId(example)}</h3>
      {found && found.length > 0 ? <Differences found={found} /> : <span class="faint">{found ? 'It changes nothing yet.' : 'Not JSON yet.'}</span>}
      <pre class="text-block">{(shown ? pretty(after ?? payload, shown) : payload).split('\n').map(showHidden).join('\n')}</pre>
    </div>
  );
}

function Fields({verdict, details, set}: {verdict: Verdict; details: VerdictDetails; set: (changes: Partial<VerdictDetails>) => void}) {
  if (verdict === 'patch') {
    return (
      <label class="field"><span>JSON Merge Patch <span class="faint">(null removes a member)</span></span>
        <textarea rows={4} spellcheck={false} autoFocus value={details.patch} placeholder='{"model": "large"}' onInput={event => set({patch: event.currentTarget.value})} />
      </label>
    );
  }
  if (verdict === 'wait') {
    return <label class="field"><span>Run again after</span><input type="text" value={details.wait} placeholder="6h" onInput={event => set({wait: event.currentTarget.value.trim()})} /></label>;
  }
  if (verdict === 'escalate') {
    return <label class="field"><span>To</span><input type="text" value={details.to} placeholder="a person or a team" onInput={event => set({to: event.currentTarget.value})} /></label>;
  }
  return null;
}

function VerdictDialog({verdict, group, escalatedOnly}: {verdict: Verdict; group: ErrorGroup; escalatedOnly: boolean}) {
  const [details, setDetails] = useState<VerdictDetails>({fingerprint: group.fingerprint!, escalatedOnly, why: '', patch: '', wait: '6h', to: ''});
  const [preview, setPreview] = useState<BulkPreview | null>(null);
  const [problem, setProblem] = useState('');
  useEffect(() => {
    call('POST /v1/bulk', {body: orderOf(verdict, details, serverNow(), true)}).then(answer => setPreview(answer as BulkPreview), error => setProblem(describe(error)));
  }, []);
  const words = VERDICT_WORDS[verdict];
  const lacks = missing(verdict, details);
  const amount = preview?.matched ?? 0;
  const many = preview ? `${preview.exact ? '' : 'at least '}${plural(amount, 'task')}` : 'counting…';
  return (
    <ActionDialog title={`${words.title}: ${many}`} label={preview ? `${words.label} ${plural(amount, 'task')}` : words.label} danger={verdict === 'delete'}
      isReady={amount > 0 && !lacks} size={verdict === 'patch' ? 'large' : 'normal'}
      command={why => commandOf(verdict, {...details, why})}
      run={async why => {
        await call('POST /v1/bulk', {body: orderOf(verdict, {...details, why}, serverNow(), false)});
        watchOperations();
        return `${words.label}: ${plural(amount, 'task')}, on the server`;
      }}>
      <p><strong>{group.class}</strong>: {showHidden(group.pattern)}</p>
      <p>{words.says}{escalatedOnly ? ' Only those that are escalated.' : ''}</p>
      <Fields verdict={verdict} details={details} set={changes => setDetails({...details, ...changes})} />
      {verdict === 'patch' && <PatchOnExample example={group.example} patch={details.patch} />}
      {problem && <Problem text={problem} />}
      {preview && amount === 0 && <Problem text="No dead letter of this kind is left." />}
      {lacks && <span class="faint" role="status">{lacks}</span>}
    </ActionDialog>
  );
}

export const openVerdict = (verdict: Verdict, group: ErrorGroup, escalatedOnly = false): void =>
  showDialog(() => <VerdictDialog verdict={verdict} group={group} escalatedOnly={escalatedOnly} />);
