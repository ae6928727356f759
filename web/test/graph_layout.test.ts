import assert from 'node:assert/strict';
import {test} from 'node:test';
import {cpuMs} from './cpu';
import {layout} from '../src/lib/graph_layout';

const edge = (from: string, to: string) => ({from, to});

test('columns are longest paths', () => {
  const {nodes, columns} = layout(['a', 'b', 'c', 'd'], [edge('a', 'b'), edge('b', 'c'), edge('a', 'c'), edge('c', 'd')]);
  assert.deepEqual(nodes.map(node => [node.id, node.column]), [['a', 0], ['b', 1], ['c', 2], ['d', 3]]);
  assert.equal(columns, 4);
});

test('no two nodes share a place, and no edge leads backwards', () => {
  const ids = Array.from({length: 300}, (_, at) => `n${at}`);
  const edges = ids.flatMap((id, at) => [1, 7, 31].filter(step => at >= step && (at + step) % 3).map(step => edge(ids[at - step]!, id)));
  let placed = layout([], []);
  const used = cpuMs(() => (placed = layout(ids, edges)));
  assert.ok(used < 250, `${used} ms`);
  assert.equal(new Set(placed.nodes.map(node => `${node.column} ${node.row}`)).size, 300);
  const column = new Map(placed.nodes.map(node => [node.id, node.column]));
  for (const {from, to} of edges) assert.ok(column.get(from)! < column.get(to)!);
});

test('crossing edges are straightened', () => {
  const {nodes} = layout(['a', 'b', 'x', 'y'], [edge('a', 'y'), edge('b', 'x')]);
  const row = new Map(nodes.map(node => [node.id, node.row]));
  assert.equal(row.get('a')! < row.get('b')!, row.get('y')! < row.get('x')!);
});

test('a cycle, a loop and an unknown end do not hang it', () => {
  const {nodes} = layout(['a', 'b'], [edge('a', 'b'), edge('b', 'a'), edge('a', 'a'), edge('a', 'gone')]);
  assert.equal(nodes.length, 2);
});
