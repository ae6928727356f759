// One hour or 24 hours: throughput, failures, wait and spend.
import {useMemo} from 'preact/hooks';
import {call} from '../../api/client';
import {Chart, TIMES, WHOLE} from '../../charts/chart';
import {compact, count, duration, money} from '../../lib/format';
import {columnsOf, largest, sum, sumKnown} from '../../lib/history';
import {roundMoney} from '../../lib/usage';
import {useResource} from '../../live/resource';
import {here} from '../../router';
import {Loading, Problem} from '../../ui/empty';
import {Choices, Section} from '../../ui/list';

const SPANS = [{value: '1h', label: '1 hour'}, {value: '24h', label: '24 hours'}];
const EVERY_MS = 20_000;

/** Axes have little room: "40s", "5m", "2h". */
export function shortDuration(ms: number): string {
  if (ms === 0) return '0';
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${Math.round(ms / 1000)} s`;
  if (ms < 3_600_000) return `${Math.round(ms / 6000) / 10} m`;
  return `${Math.round(ms / 360_000) / 10} h`;
}

export function Trends() {
  const isDay = here.value.query.get('span') === '24h';
  const history = useResource(isDay ? 'history-24h' : 'history-1h',
    abort => call('GET /v1/stats/history', {query: isDay ? {hours: 24} : {minutes: 60}, signal: abort}), {everyMs: EVERY_MS});
  const data = history.data.value;
  const columns = useMemo(() => (data ? columnsOf(data) : null), [data]);
  const per = isDay ? 'an hour' : 'a minute';
  return (
    <Section title="Over time" tools={<Choices name="span" values={SPANS} fallback="1h" label="Time span" />}>
      {history.error.value && <Problem text={history.error.value} retry={history.reload} />}
      {!columns ? !history.error.value && <Loading /> : (
        <div class="charts">
          <Chart title="Throughput" summary={`${count(sum(columns.completed))} completed, at most ${count(largest(columns.completed) ?? 0)} ${per}`} times={columns.times} format={compact} steps={WHOLE}
            series={[{label: 'completed', tone: 'c-completed', kind: 'bars', values: columns.completed}]} />
          <Chart title="Failures" summary={`${count(sum(columns.failed))} failed, ${count(sum(columns.retried))} tried again`} times={columns.times} format={compact} steps={WHOLE}
            series={[
              {label: 'tried again', tone: 'c-retried', kind: 'bars', values: columns.retried, tops: columns.retried.map((value, at) => value + columns.failed[at]!)},
              {label: 'failed', tone: 'c-failed', kind: 'bars', values: columns.failed},
            ]} />
          <Chart title="Wait, p95" summary={largest(columns.waitP95) === null ? 'nothing started' : `at most ${duration(largest(columns.waitP95)!)}`} times={columns.times} format={shortDuration} steps={TIMES}
            series={[{label: 'waited', tone: 'c-wait', kind: 'line', values: columns.waitP95}]} />
          <Chart title="Spend" summary={money(sumKnown(columns.spend))} times={columns.times} format={roundMoney}
            series={[{label: 'spent', tone: 'c-spend', kind: 'bars', values: columns.spend}]} />
        </div>
      )}
    </Section>
  );
}
