// Charts of some dozens of bars or points, drawn as SVG with the colours of the styles: 2 KB, where a library takes a quarter of all
// that the dashboard may weigh. A chart is a title, one sentence of numbers, and a drawing that says more under the pointer.
import {signal} from '@preact/signals';
import {useEffect, useRef, useState} from 'preact/hooks';
import {labelled, linesOf} from '../lib/scale';
import {timeZone} from '../lib/settings';

export interface Series {
  label: string;
  /** A class of charts.css: c-completed, c-failed, … */
  tone: string;
  kind: 'bars' | 'line';
  values: readonly (number | null)[];
  /** Where its top is drawn, if it stands on another one. */
  tops?: readonly (number | null)[];
}

export interface ChartProps {
  title: string;
  /** What it comes to, for everybody: "1,204 completed, 31 failed". */
  summary: string;
  /** Begin of each step, in seconds, at equal distances. */
  times: readonly number[];
  series: readonly Series[];
  format: (value: number) => string;
  /** Distances of lines that read well, smallest first. */
  steps?: readonly number[];
  /** Steps of days are named by day. */
  days?: boolean;
}

export const WHOLE = [1, 2, 5, 10];
export const TIMES = [100, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 3e4, 6e4, 12e4, 3e5, 6e5, 12e5, 36e5, 72e5, 216e5, 864e5];

const HEIGHT = 120;
const LEFT = 46;
const RIGHT = 4;
const TOP = 8;
const BOTTOM = 20;
const FLOOR = HEIGHT - BOTTOM;
const LABEL_WIDTH = 62;
const LINES = 3;
const BAR_SHARE = 0.74;
const BAR_MOST = 28;

const two = (value: number): string => String(value).padStart(2, '0');

function timeText(seconds: number, days: boolean): string {
  const time = new Date(seconds * 1000);
  if (days) return time.toISOString().slice(5, 10);
  return timeZone.value === 'utc' ? time.toISOString().slice(11, 16) : `${two(time.getHours())}:${two(time.getMinutes())}`;
}

const zoneOffset = (days: boolean): number => (days || timeZone.value === 'utc' ? 0 : -new Date().getTimezoneOffset() * 60);

// All charts of a page that show the same times show the same moment.
const pointed = signal<number | null>(null);

function useWidth(): [{current: HTMLDivElement | null}, number] {
  const holder = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const watcher = new ResizeObserver(entries => setWidth(Math.round(entries[0]!.contentRect.width)));
    watcher.observe(holder.current!);
    return () => watcher.disconnect();
  }, []);
  return [holder, width];
}

interface Place {
  x: (at: number) => number;
  y: (value: number) => number;
  step: number;
}

function Bars({series, place}: {series: Series; place: Place}) {
  const width = Math.max(1, Math.min(BAR_MOST, place.step * BAR_SHARE));
  return (
    <g class={series.tone}>
      {(series.tops ?? series.values).map((value, at) => {
        if (!value) return null;
        const y = Math.min(FLOOR - 1, place.y(value));
        return <rect key={at} x={place.x(at) - width / 2} y={y} width={width} height={FLOOR - y} rx={Math.min(2, width / 4)} />;
      })}
    </g>
  );
}

/** Runs of known values: a gap is drawn as a gap. */
export function runsOf(values: readonly (number | null)[]): number[][] {
  const runs: number[][] = [];
  values.forEach((value, at) => {
    if (value === null) return;
    if (at > 0 && values[at - 1] !== null && runs.length) runs.at(-1)!.push(at);
    else runs.push([at]);
  });
  return runs;
}

function Line({series, place}: {series: Series; place: Place}) {
  const values = series.tops ?? series.values;
  return (
    <g class={series.tone}>
      {runsOf(values).map(run => {
        if (run.length === 1) return <circle key={run[0]} cx={place.x(run[0]!)} cy={place.y(values[run[0]!]!)} r="2" />;
        const points = run.map(at => `${place.x(at).toFixed(1)} ${place.y(values[at]!).toFixed(1)}`).join('L');
        return (
          <g key={run[0]}>
            <path class="area" d={`M${place.x(run[0]!)} ${FLOOR}L${points}L${place.x(run.at(-1)!)} ${FLOOR}Z`} />
            <path class="stroke" d={`M${points}`} />
          </g>
        );
      })}
    </g>
  );
}

function Drawing({props, width}: {props: ChartProps; width: number}) {
  const {times, series, days = false} = props;
  const largest = Math.max(0, ...series.flatMap(one => (one.tops ?? one.values).map(value => value ?? 0)));
  const top = largest > 0 ? largest * 1.06 : 1;
  const step = (width - LEFT - RIGHT) / Math.max(1, times.length);
  const place: Place = {x: at => LEFT + (at + 0.5) * step, y: value => FLOOR - (value / top) * (FLOOR - TOP), step};
  const move = (event: PointerEvent) => {
    const at = Math.floor((event.offsetX - LEFT) / step);
    pointed.value = at >= 0 && at < times.length ? times[at]! : null;
  };
  const at = pointed.value === null ? -1 : times.indexOf(pointed.value);
  return (
    <svg width={width} height={HEIGHT} viewBox={`0 0 ${width} ${HEIGHT}`} role="img" aria-label={`${props.title}: ${props.summary}`}
      onPointerMove={move} onPointerDown={move} onPointerLeave={() => (pointed.value = null)}>
      {linesOf(largest, LINES, props.steps).map(value => (
        <g key={value} class="chart-line"><line x1={LEFT} x2={width - RIGHT} y1={place.y(value)} y2={place.y(value)} /><text x={LEFT - 6} y={place.y(value) + 4} text-anchor="end">{props.format(value)}</text></g>
      ))}
      {labelled(times, (width - LEFT) / LABEL_WIDTH, zoneOffset(days)).map(index => <text key={index} x={place.x(index)} y={HEIGHT - 5} text-anchor="middle">{timeText(times[index]!, days)}</text>)}
      {series.map(one => (one.kind === 'bars' ? <Bars key={one.label} series={one} place={place} /> : <Line key={one.label} series={one} place={place} />))}
      {at >= 0 && <line class="chart-cursor" x1={place.x(at)} x2={place.x(at)} y1={TOP} y2={FLOOR} />}
    </svg>
  );
}

function Point({props}: {props: ChartProps}) {
  const at = pointed.value === null ? -1 : props.times.indexOf(pointed.value);
  if (at < 0) return null;
  return (
    <div class="chart-point" aria-hidden="true">
      <strong>{timeText(props.times[at]!, props.days ?? false)}</strong>
      {props.series.map(one => <span key={one.label}>{one.values[at] == null ? '–' : props.format(one.values[at]!)} {one.label}</span>)}
    </div>
  );
}

export function Chart(props: ChartProps) {
  const [holder, width] = useWidth();
  return (
    <figure class="chart card">
      <figcaption>
        <h3>{props.title}</h3>
        <span class="chart-summary">{props.summary}</span>
      </figcaption>
      <div class="chart-plot" ref={holder}>{width > LEFT + 40 && <Drawing props={props} width={width} />}</div>
      <Point props={props} />
    </figure>
  );
}

const SPARK = {width: 96, height: 22};

/** A line of small bars: when it happened. `label` says the same in words. */
export function Sparkline({values, label}: {values: readonly number[]; label: string}) {
  const most = Math.max(1, ...values);
  const step = SPARK.width / Math.max(1, values.length);
  return (
    <svg class="sparkline" width={SPARK.width} height={SPARK.height} viewBox={`0 0 ${SPARK.width} ${SPARK.height}`} role="img" aria-label={label}>
      <title>{label}</title>
      {values.map((value, at) => {
        const height = value === 0 ? 1 : Math.max(2, (value / most) * (SPARK.height - 1));
        return <rect key={at} class={value ? '' : 'none'} x={at * step} y={SPARK.height - height} width={Math.max(1, step - 1.5)} height={height} rx="0.75" />;
      })}
    </svg>
  );
}
