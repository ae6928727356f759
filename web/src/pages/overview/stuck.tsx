// "Stuck and why": waiting tasks by what holds them back, and the button that releases them.
import {may} from '../../api/session';
import type {StuckReport} from '../../api/types';
import {now} from '../../lib/clock';
import {gateKind, gateSubject, reasonWords, releaseOf, type StuckGroup} from '../../lib/fleet';
import {count, countdown, parseTime, plural} from '../../lib/format';
import {gates} from '../../live/gates';
import {href} from '../../router';
import {copyText} from '../../ui/command';
import {Icon} from '../../ui/icons';
import {Cell, List, Section, useSteady} from '../../ui/list';
import {Time} from '../../ui/time';
import {limitGateDialog, openGateDialog} from '../queues/gate_dialogs';
import {Sentence} from '../task/explain';

const HEADS = [{label: 'What holds them'}, {label: 'Tasks', end: true}, {label: 'Oldest', end: true}, {label: 'Release', isHidden: true}];

function Action({group}: {group: StuckGroup}) {
  const release = releaseOf(group, gates.value, now.value);
  switch (release.kind) {
    case 'open_gate':
      return may('operate') ? (
        <button class="button small" onClick={() => openGateDialog(release.gate)}><Icon name="play" size={12} />{gateKind(release.gate) === 'queue' ? 'Resume' : 'Open'}</button>
      ) : null;
    case 'limit':
      return (
        <>
          <a class="button small" href={href('/tasks', {q: `state:running gate:${release.gate}`})}>What runs</a>
          {release.by === 'hand' && may('operate') && <button class="button small" onClick={() => limitGateDialog(release.gate)}>Change the limit</button>}
        </>
      );
    case 'worker':
    case 'line':
      return <button class="button small" title={release.command} onClick={() => void copyText(release.command, 'Command copied')}><Icon name="copy" size={12} />Worker command</button>;
    case 'answer':
      return <button class="button small" onClick={() => void copyText(release.command, 'Command copied')}><Icon name="copy" size={12} />{release.command}</button>;
    case 'store':
      return <button class="button small" onClick={() => void copyText('drover store show', 'Command copied')}><Icon name="copy" size={12} />drover store show</button>;
  }
}

// The text of the server says it all; times in it are replaced by a countdown beside it.
function withoutTime(text: string): string {
  return text.replace(/,? until \d{4}-\d\d-\d\dT[\d:.]+Z/, '');
}

function Until({at}: {at: StuckGroup['at']}) {
  const time = at === 'opened' ? null : parseTime(at);
  if (time === null) return null;
  return <span class="badge-word warning"><Icon name="scheduled" />{time > now.value ? `opens in ${countdown(time - now.value)}` : 'opens now'}</span>;
}

const subjectOf = (group: StuckGroup): string => (group.reason === 'question' ? 'people' : group.gate ?? `queue:${group.queue ?? 'default'}`);

const subjectHref = (group: StuckGroup): string =>
  group.reason === 'question' ? href('/tasks', {q: queryOf(group)}) : href('/queues', {find: group.gate ?? group.queue});

function queryOf(group: StuckGroup): string {
  const waiting = 'state:pending,stalled';
  if (group.reason === 'question') return 'state:blocked';
  if (group.gate === null) return `${waiting} queue:${group.queue}`;
  return group.gate === 'all' ? waiting : gateKind(group.gate) === 'queue' ? `${waiting} queue:${gateSubject(group.gate)}` : `${waiting} gate:${group.gate}`;
}

function Group({group}: {group: StuckGroup}) {
  return (
    <tr>
      <Cell main label="What holds them">
        <div class="line wrap">
          <a class="strong" href={subjectHref(group)}>{subjectOf(group)}</a>
          <span class="faint">{reasonWords(group)}</span>
          <Until at={group.at} />
        </div>
        <div class="sub"><Sentence text={withoutTime(group.text)} /> · <a href={href(`/tasks/${group.example}`)}>look at one</a></div>
      </Cell>
      <Cell end label="Tasks"><a class="strong" href={href('/tasks', {q: queryOf(group)})}>{count(group.tasks)}</a></Cell>
      <Cell end label="Oldest"><Time at={group.since} form="age" /></Cell>
      <Cell className="actions"><div class="line"><Action group={group} /></div></Cell>
    </tr>
  );
}

function Later({report}: {report: StuckReport}) {
  const parts = [
    report.scheduled > 0 && <a key="s" href={href('/tasks', {q: 'state:scheduled'})}>{plural(report.scheduled, 'task')} for later</a>,
    report.blocked > 0 && <a key="b" href={href('/tasks', {q: 'state:blocked'})}>{plural(report.blocked, 'task')} behind others</a>,
    report.unexamined > 0 && <span key="u">{plural(report.unexamined, 'task')} in lanes that were not looked at</span>,
  ].filter(Boolean);
  return parts.length ? <span class="line wrap faint">{parts}</span> : null;
}

const keyOf = (group: StuckGroup): string => `${group.reason} ${group.gate} ${group.queue}`;

export function Stuck({report}: {report: StuckReport}) {
  const {items, hold} = useSteady(report.groups, keyOf);
  const waiting = report.groups.reduce((sum, group) => sum + group.tasks, 0);
  return (
    <Section title="Stuck and why" note={waiting ? `${plural(waiting, 'task')} ${waiting === 1 ? 'waits' : 'wait'}` : ''} tools={<Later report={report} />}>
      {report.groups.length === 0
        ? <div class="card all-well"><Icon name="completed" /> Nothing waits for a gate or a worker.</div>
        : <List heads={HEADS} caption="Waiting tasks by what holds them back" hold={hold}>{items.map(group => <Group key={keyOf(group)} group={group} />)}</List>}
    </Section>
  );
}
