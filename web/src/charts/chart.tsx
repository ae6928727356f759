// uPlot with our colours. A chart is a title, one sentence of numbers, and a drawing that says more under the pointer.
import {effect} from '@preact/signals';
import {useEffect, useRef, useState} from 'preact/hooks';
import uPlot from 'uplot';
import {theme, timeZone} from '../lib/settings';

export interface Series {
  label: string;
  /** A variable of tokens.css, such as "--completed". */
  colour: string;
  kind: 'bars' | 'line';
  values: readonly (number | null)[];
  /** Where its top is drawn, if it stands on another one. */
  tops?: readonly (number | null)[];
}

export interface ChartProps {
  title: string;
  /** What it comes to, for everybody: "1,204 completed, 31 failed". */
  summary: string;
  times: readonly number[];
  series: readonly Series[];
  format: (value: number) => string;
  /** Distances of lines that read well, smallest first. */
  steps?: readonly number[];
  /** Charts with the same name move their pointers together. */
  group?: string;
  /** Steps of days are named by day. */
  days?: boolean;
}

const HEIGHT = 120;
const colourOf = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const faded = (colour: string): string => `${colour}22`;
const two = (value: number): string => String(value).padStart(2, '0');

function timeText(seconds: number, days: boolean): string {
  const time = new Date(seconds * 1000);
  if (days) return time.toISOString().slice(5, 10);
  return timeZone.peek() === 'utc' ? time.toISOString().slice(11, 16) : `${two(time.getHours())}:${two(time.getMinutes())}`;
}

const ROOM_FOR_LABEL = 64;
export const WHOLE = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 2e5, 5e5, 1e6];
export const TIMES = [100, 500, 1e3, 5e3, 1e4, 3e4, 6e4, 12e4, 3e5, 6e5, 12e5, 36e5, 72e5, 216e5, 864e5];

function axes(props: ChartProps): uPlot.Axis[] {
  const text = colourOf('--text-faint');
  const grid = {stroke: colourOf('--line'), width: 1};
  const font = '11px system-ui, sans-serif';
  return [
    {stroke: text, font, grid: {show: false}, ticks: {show: false}, size: 24, gap: 4, space: ROOM_FOR_LABEL, values: (_, splits) => splits.map(at => timeText(at, props.days ?? false))},
    {stroke: text, font, grid, ticks: {show: false}, size: 52, gap: 6, space: 28, ...(props.steps ? {incrs: [...props.steps]} : {}), values: (_, splits) => splits.map(at => (at === null ? '' : props.format(at)))},
  ];
}

// Half a step at both ends, so that the first and the last bar are whole.
function padded(times: readonly number[], min: number, max: number): [number, number] {
  const half = times.length > 1 ? (times[1]! - times[0]!) / 2 : 1800;
  return [min - half, max + half];
}

const dataOf = (props: ChartProps): uPlot.AlignedData => [props.times, ...props.series.map(one => one.tops ?? one.values)] as uPlot.AlignedData;

function optionsOf(props: ChartProps, width: number, onPoint: (at: number | null) => void): uPlot.Options {
  const bars = uPlot.paths.bars!({size: [0.72, 26], radius: 0.18});
  return {
    width, height: HEIGHT, legend: {show: false}, padding: [8, 4, 0, 0],
    cursor: {
      y: false, points: {show: false}, drag: {setScale: false, x: false, y: false},
      ...(props.group ? {sync: {key: props.group, setSeries: false}} : {}),
    },
    scales: {x: {time: true, range: (_, min, max) => padded(props.times, min, max)}, y: {range: (_, _min, max) => [0, Math.max(max ?? 0, 0) * 1.08 || 1]}},
    axes: axes(props),
    series: [{}, ...props.series.map(one => {
      const colour = colourOf(one.colour);
      return one.kind === 'bars'
        ? {stroke: colour, fill: colour, width: 0, paths: bars, points: {show: false}}
        : {stroke: colour, fill: faded(colour), width: 2, spanGaps: false, points: {size: 4, fill: colour}};
    })],
    hooks: {setCursor: [plot => onPoint(plot.cursor.idx ?? null)]},
  };
}

export function Chart(props: ChartProps) {
  const holder = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const [point, setPoint] = useState<number | null>(null);
  const latest = useRef(props);
  latest.current = props;
  useEffect(() => {
    const element = holder.current!;
    const draw = () => {
      plot.current?.destroy();
      plot.current = new uPlot(optionsOf(latest.current, Math.max(120, element.clientWidth), setPoint), dataOf(latest.current), element);
    };
    const resized = new ResizeObserver(() => plot.current?.setSize({width: Math.max(120, element.clientWidth), height: HEIGHT}));
    // Colours are read when it is drawn, so another theme draws it anew.
    const stop = effect(() => {
      void theme.value;
      void timeZone.value;
      requestAnimationFrame(draw);
    });
    const dark = matchMedia('(prefers-color-scheme: dark)');
    dark.addEventListener('change', draw);
    resized.observe(element);
    return () => {
      stop();
      dark.removeEventListener('change', draw);
      resized.disconnect();
      plot.current?.destroy();
      plot.current = null;
    };
  }, [props.series.map(one => one.label + one.kind).join()]);
  useEffect(() => plot.current?.setData(dataOf(props)), [props.times, props.series]);
  const at = point === null ? null : props.times[point];
  return (
    <figure class="chart card">
      <figcaption>
        <h3>{props.title}</h3>
        <span class="chart-summary">{props.summary}</span>
      </figcaption>
      <div class="chart-plot" ref={holder} role="img" aria-label={`${props.title}: ${props.summary}`} />
      {at !== null && at !== undefined && (
        <div class="chart-point" aria-hidden="true">
          {timeText(at, props.days ?? false)}
          {props.series.map(one => {
            const value = one.values[point!];
            return <span key={one.label}>{value === null || value === undefined ? '–' : props.format(value)} {one.label}</span>;
          })}
        </div>
      )}
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
