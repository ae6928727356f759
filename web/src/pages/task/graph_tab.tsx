import {useRef, useState} from 'preact/hooks';
import {call} from '../../api/client';
import type {Task, TaskGraph} from '../../api/types';
import {duration, parseTime, shortId} from '../../lib/format';
import {layout, type Placed} from '../../lib/graph_layout';
import {now} from '../../lib/clock';
import {useResource} from '../../live/resource';
import {href} from '../../router';
import {Empty, Loading, Problem} from '../../ui/empty';
import {State} from '../../ui/state';

const WIDTH = 168;
const HEIGHT = 54;
const GAP_X = 56;
const GAP_Y = 16;
const MARGIN = 16;

type GraphNode = TaskGraph['nodes'][number];

const left = (node: Placed) => MARGIN + node.column * (WIDTH + GAP_X);
const top = (node: Placed) => MARGIN + node.row * (HEIGHT + GAP_Y);

function curve(from: Placed, to: Placed): string {
  const x1 = left(from) + WIDTH;
  const y1 = top(from) + HEIGHT / 2;
  const x2 = left(to);
  const y2 = top(to) + HEIGHT / 2;
  const bend = Math.max(24, (x2 - x1) / 2);
  return `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`;
}

function took(node: GraphNode): string {
  const from = parseTime(node.started_at);
  if (from === null) return '';
  const to = parseTime(node.finished_at);
  return to === null && node.state !== 'running' ? '' : duration((to ?? now.value) - from);
}

function merge(a: TaskGraph, b: TaskGraph): TaskGraph {
  const nodes = new Map(a.nodes.map(node => [node.id, node]));
  for (const node of b.nodes) nodes.set(node.id, {...node, distance: nodes.get(node.id)?.distance ?? node.distance + 1});
  const edges = new Map([...a.edges, ...b.edges].map(edge => [`${edge.from} ${edge.to} ${edge.kind}`, edge]));
  return {...a, nodes: [...nodes.values()], edges: [...edges.values()], more: a.more || b.more};
}

const NODES_MAX = 1500;

export function GraphTab({task}: {task: Task}) {
  const [expanded, setExpanded] = useState<string[]>([]);
  const shown = useRef<ReadonlySet<string>>(new Set([task.id]));
  const loaded = useResource(`graph ${task.id} ${expanded.join(' ')}`, async abort => {
    let graph = await call('GET /v1/tasks/{id}/graph', {path: {id: task.id}, signal: abort});
    for (const id of expanded) if (graph.nodes.length < NODES_MAX) graph = merge(graph, await call('GET /v1/tasks/{id}/graph', {path: {id}, signal: abort}));
    return graph;
  }, {on: event => event.task_id !== null && shown.current.has(event.task_id) && event.name !== 'task.progressed', quietMs: 2000, everyMs: 15_000});
  shown.current = new Set(loaded.data.value?.nodes.map(node => node.id) ?? [task.id]);
  const graph = loaded.data.value;
  if (!graph) return loaded.error.value ? <Problem text={loaded.error.value} retry={loaded.reload} /> : <Loading label="Reading the graph" />;
  if (graph.nodes.length <= 1) {
    return (
      <Empty icon="link" title="It stands alone" command={`drover enqueue ${task.type} --prompt 'What to do next' --after ${task.id}`}>
        It depends on no other task, none depends on it, and it has no children.
      </Empty>
    );
  }
  const placed = layout(graph.nodes.map(node => node.id), graph.edges);
  const at = new Map(placed.nodes.map(node => [node.id, node]));
  const width = MARGIN * 2 + placed.columns * (WIDTH + GAP_X) - GAP_X;
  const height = MARGIN * 2 + placed.rows * (HEIGHT + GAP_Y) - GAP_Y;
  return (
    <div class="graph-tab">
      <p class="graph-note faint">
        {graph.nodes.length} tasks{graph.more ? ', and there are more: use “more” at a task' : ''}.
        <span class="edge-key" /> depends on <span class="edge-key spawned" /> spawned
      </p>
      <div class="graph" tabIndex={0} role="group" aria-label="Dependencies and children">
        <div class="graph-sheet" style={{width: `${width}px`, height: `${height}px`}}>
          <svg width={width} height={height} aria-hidden="true">
            {graph.edges.map(edge => {
              const from = at.get(edge.from);
              const to = at.get(edge.to);
              return from && to && <path key={`${edge.from}${edge.to}${edge.kind}`} class={`edge ${edge.kind}`} d={curve(from, to)} />;
            })}
          </svg>
          {graph.nodes.map(node => {
            const place = at.get(node.id)!;
            return (
              <div key={node.id} class={`graph-node ${node.id === task.id ? 'root' : ''}`} style={{left: `${left(place)}px`, top: `${top(place)}px`, width: `${WIDTH}px`, height: `${HEIGHT}px`}}>
                <a href={href(`/tasks/${node.id}`, {tab: 'graph'})} aria-current={node.id === task.id ? 'true' : undefined} title={`${node.type} ${node.id}`}>
                  <span class="line"><strong class="grow clip">{node.type}</strong><span class="faint">{took(node)}</span></span>
                  <span class="line"><State state={node.state} /><span class="grow" /><span class="mono faint">{shortId(node.id)}</span></span>
                </a>
                {node.more && !expanded.includes(node.id) && <button class="graph-more" onClick={() => setExpanded([...expanded, node.id])}>more</button>}
              </div>
            );
          })}
        </div>
      </div>
    </div>
  );
}
