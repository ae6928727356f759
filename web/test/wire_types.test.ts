import assert from 'node:assert/strict';
import {spawnSync} from 'node:child_process';
import {join} from 'node:path';
import {test} from 'node:test';

declare const DROVER_WEB_FOLDER: string;

test('src/api/types.ts and the types of the clients are what openapi.yaml describes', () => {
  const run = spawnSync('python3', [join(DROVER_WEB_FOLDER, '../tools/wire_types'), '--check'], {encoding: 'utf8'});
  assert.equal(run.status, 0, run.stderr || String(run.error));
});
