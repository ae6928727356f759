// Places a graph of tasks: columns by longest path, rows by barycentre. 300 nodes take a few milliseconds.

export interface GraphEdge {
  from: string;
  to: string;
}

export interface Placed {
  id: string;
  column: number;
  row: number;
}

export interface Layout {
  nodes: Placed[];
  columns: number;
  rows: number;
}

const SWEEPS = 8;

function neighbours(ids: string[], edges: GraphEdge[]) {
  const before = new Map<string, string[]>(ids.map(id => [id, []]));
  const after = new Map<string, string[]>(ids.map(id => [id, []]));
  for (const {from, to} of edges) {
    if (from === to || !before.has(to) || !after.has(from)) continue;
    before.get(to)!.push(from);
    after.get(from)!.push(to);
  }
  return {before, after};
}

// Kahn's order; what a cycle leaves over (the server refuses cycles, a page must not hang on one) comes last.
function longestPaths(ids: string[], before: Map<string, string[]>, after: Map<string, string[]>): Map<string, number> {
  const open = new Map(ids.map(id => [id, before.get(id)!.length]));
  const column = new Map(ids.map(id => [id, 0]));
  const ready = ids.filter(id => open.get(id) === 0);
  for (let at = 0; at < ready.length; at++) {
    const id = ready[at]!;
    for (const next of after.get(id)!) {
      column.set(next, Math.max(column.get(next)!, column.get(id)! + 1));
      open.set(next, open.get(next)! - 1);
      if (open.get(next) === 0) ready.push(next);
    }
  }
  return column;
}

function sweep(columns: string[][], beside: Map<string, string[]>, backwards: boolean): void {
  const place = new Map<string, number>();
  for (const column of columns) column.forEach((id, row) => place.set(id, row - column.length / 2));
  const order = backwards ? [...columns].reverse() : columns;
  for (const column of order) {
    const weight = new Map<string, number>();
    column.forEach((id, row) => {
      const others = beside.get(id)!;
      const sum = others.reduce((total, other) => total + place.get(other)!, 0);
      weight.set(id, others.length ? sum / others.length : row - column.length / 2);
    });
    column.sort((a, b) => weight.get(a)! - weight.get(b)!);
    column.forEach((id, row) => place.set(id, row - column.length / 2));
  }
}

export function layout(ids: string[], edges: GraphEdge[]): Layout {
  const {before, after} = neighbours(ids, edges);
  const columnOf = longestPaths(ids, before, after);
  const columns: string[][] = [];
  for (const id of ids) (columns[columnOf.get(id)!] ??= []).push(id);
  for (let at = 0; at < columns.length; at++) columns[at] ??= [];
  for (let round = 0; round < SWEEPS; round++) sweep(columns, round % 2 ? after : before, round % 2 === 1);
  const rows = Math.max(1, ...columns.map(column => column.length));
  const nodes = columns.flatMap((column, at) =>
    column.map((id, row) => ({id, column: at, row: row + (rows - column.length) / 2})));
  return {nodes, columns: columns.length, rows};
}
