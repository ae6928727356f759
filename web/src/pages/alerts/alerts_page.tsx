import {call} from '../../api/client';
import type {Alert, PastAlert} from '../../api/types';
import {showHidden} from '../../lib/ansi';
import {now} from '../../lib/clock';
import {alertWords, isSnoozed, sortAlerts} from '../../lib/fleet';
import {plural} from '../../lib/format';
import {useResource} from '../../live/resource';
import {Empty, Loading, Problem} from '../../ui/empty';
import {Cell, List, PageHead, Section, useSteady} from '../../ui/list';
import {Time, Took} from '../../ui/time';
import {AlertActions, FixText, Severity, SnoozedNote} from './alert_parts';

const OPEN_HEADS = [{label: 'Severity'}, {label: 'What'}, {label: 'Since', end: true}, {label: 'Actions', isHidden: true}];
const PAST_HEADS = [{label: 'Severity'}, {label: 'What'}, {label: 'Raised', end: true}, {label: 'Lasted', end: true}];
const EVERY_MS = 15_000;

function Open({alert, reload}: {alert: Alert; reload: () => void}) {
  return (
    <tr class={isSnoozed(alert, now.value) ? 'muted' : ''}>
      <Cell className="lead"><Severity severity={alert.severity} /></Cell>
      <Cell main>
        <div class="line wrap"><strong>{alertWords(alert.kind)}</strong><span class="mono">{showHidden(alert.subject)}</span><SnoozedNote alert={alert} /></div>
        <div>{showHidden(alert.detail)}</div>
        <FixText fix={alert.fix} />
      </Cell>
      <Cell end label="Since" className="corner"><Time at={alert.raised_at} form="age" /></Cell>
      <Cell className="actions"><AlertActions alert={alert} reload={reload} /></Cell>
    </tr>
  );
}

function Past({alert}: {alert: PastAlert}) {
  return (
    <tr>
      <Cell className="lead"><Severity severity={alert.severity} /></Cell>
      <Cell main><div class="line wrap"><strong>{alertWords(alert.kind)}</strong><span class="mono">{showHidden(alert.subject)}</span></div><div class="sub">{showHidden(alert.detail)}</div></Cell>
      <Cell end label="Raised" className="corner"><Time at={alert.raised_at} /></Cell>
      <Cell end label="Lasted"><Took from={alert.raised_at} to={alert.cleared_at} /></Cell>
    </tr>
  );
}

export function AlertsPage() {
  const onAlerts = {on: (event: {name: string}) => event.name.startsWith('alert.') || event.name.startsWith('breaker.'), everyMs: EVERY_MS};
  const open = useResource('alerts', abort => call('GET /v1/alerts', {signal: abort}), onAlerts);
  const past = useResource('past-alerts', abort => call('GET /v1/alerts/history', {query: {limit: 100}, signal: abort}), {on: event => event.name === 'alert.cleared' || event.name === 'breaker.closed'});
  const alerts = open.data.value?.alerts;
  const {items, hold} = useSteady(sortAlerts(alerts ?? [], now.value), alert => alert.key);
  const awake = alerts?.filter(alert => !isSnoozed(alert, now.value)).length ?? 0;
  return (
    <div class="page">
      <PageHead title="Alerts" note={alerts && (alerts.length ? `${plural(awake, 'alert')} open${alerts.length > awake ? `, ${alerts.length - awake} snoozed` : ''}` : '')} />
      {open.error.value && <Problem text={open.error.value} retry={open.reload} />}
      {!alerts ? !open.error.value && <Loading /> : alerts.length === 0
        ? <Empty icon="completed" title="Nothing is wrong" command="drover doctor">The fleet is looked at every 15 seconds. This looks at the machine as well:</Empty>
        : <List heads={OPEN_HEADS} caption="Open alerts" hold={hold}>{items.map(alert => <Open key={alert.key} alert={alert} reload={open.reload} />)}</List>}
      <Section title="Over" note={past.data.value ? 'those that were raised and cleared again' : ''}>
        {past.error.value && <Problem text={past.error.value} retry={past.reload} />}
        {past.data.value && (past.data.value.alerts.length === 0 ? <div class="card all-well">Nothing in the past.</div>
          : <List heads={PAST_HEADS} caption="Alerts of the past">{past.data.value.alerts.map(alert => <Past key={alert.key + alert.cleared_at} alert={alert} />)}</List>)}
      </Section>
    </div>
  );
}
