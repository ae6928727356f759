import {showHidden} from '../../lib/ansi';
import {useState} from 'preact/hooks';
import {call, describe} from '../../api/client';
import type {AuditRecord} from '../../api/types';
import {useResource} from '../../live/resource';
import {Empty, Loading, Problem} from '../../ui/empty';
import {Cell, List, Section} from '../../ui/list';
import {Time} from '../../ui/time';

const HEADS = [{label: 'When'}, {label: 'Who'}, {label: 'What'}, {label: 'From'}, {label: 'Answer', end: true}];
const PAGE = 100;

function Row({record}: {record: AuditRecord}) {
  return (
    <tr>
      <Cell label="When"><Time at={record.at} /></Cell>
      <Cell label="Who">{record.token_id ? <><span class="mono">{record.token_id}</span><div class="sub">{record.role}{record.owner && ` of ${record.owner}`}</div></> : <span class="faint">no valid token</span>}</Cell>
      <Cell main label="What"><span class="mono">{record.method} {record.route ?? '–'}</span>{record.subject && <div class="sub mono">{showHidden(record.subject)}</div>}</Cell>
      <Cell label="From"><span class="mono">{record.from}</span></Cell>
      <Cell end label="Answer"><span class={`badge-word ${record.status >= 400 ? 'warning' : 'good'}`}>{record.status}</span></Cell>
    </tr>
  );
}

export function Audit() {
  const first = useResource('audit', abort => call('GET /v1/audit', {query: {limit: PAGE}, signal: abort}), {everyMs: 15_000});
  const [older, setOlder] = useState<{records: AuditRecord[]; next: number | null} | null>(null);
  const [problem, setProblem] = useState('');
  const data = first.data.value;
  if (!data) return first.error.value ? <Problem text={first.error.value} retry={first.reload} /> : <Loading />;
  if (!data.enabled) return <Empty icon="info" title="This server keeps no audit log" command="drover serve --audit-log FILE">With one, it records who changed what and who was refused.</Empty>;
  const seen = new Set(data.records.map(record => record.seq));
  const records = [...data.records, ...(older?.records.filter(record => !seen.has(record.seq)) ?? [])];
  const next = older ? older.next : data.next;
  const more = async () => {
    setProblem('');
    try {
      const page = await call('GET /v1/audit', {query: {before: next!, limit: PAGE}});
      setOlder({records: [...(older?.records ?? data.records), ...page.records], next: page.next});
    } catch (error) {
      setProblem(describe(error));
    }
  };
  return (
    <Section title="Audit" note="who changed what, and who was refused">
      {first.error.value && <Problem text={first.error.value} retry={first.reload} />}
      {records.length === 0 ? <div class="card all-well">Nothing was changed yet.</div> : <List heads={HEADS} caption="Audit log">{records.map(record => <Row key={record.seq} record={record} />)}</List>}
      {problem && <Problem text={problem} />}
      {next !== null && <button class="button" onClick={() => void more()}>Show older records</button>}
    </Section>
  );
}
