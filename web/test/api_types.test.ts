import assert from 'node:assert/strict';
import {spawnSync} from 'node:child_process';
import {test} from 'node:test';

declare const DROVER_WEB_FOLDER: string;

test('src/api/types.ts is what openapi.yaml describes', () => {
  const run = spawnSync(process.execPath, ['tools/api_types.mjs', '--check'], {cwd: DROVER_WEB_FOLDER, encoding: 'utf8'});
  assert.equal(run.status, 0, run.stderr);
});
