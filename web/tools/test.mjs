// Bundles test/*.test.ts into a temporary folder and runs them with node:test. Node 18 cannot read TypeScript by itself.
import {spawnSync} from 'node:child_process';
import {mkdtempSync, readdirSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {dirname, join, resolve} from 'node:path';
import {fileURLToPath} from 'node:url';
import esbuild from 'esbuild';

const web = resolve(dirname(fileURLToPath(import.meta.url)), '..');
const wanted = process.argv.slice(2);
const tests = readdirSync(join(web, 'test')).filter(name => name.endsWith('.test.ts') && (!wanted.length || wanted.some(part => name.includes(part))));
const folder = mkdtempSync(join(tmpdir(), 'drover-web-test-'));
try {
  await esbuild.build({
    absWorkingDir: web,
    entryPoints: tests.map(name => `test/${name}`),
    outdir: folder,
    outExtension: {'.js': '.mjs'},
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node18',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    define: {DROVER_WEB_FOLDER: JSON.stringify(web)},
    logLevel: 'warning',
  });
  const files = readdirSync(folder).filter(name => name.endsWith('.mjs')).map(name => join(folder, name));
  const run = spawnSync(process.execPath, ['--test', ...files], {stdio: 'inherit', cwd: web});
  process.exitCode = run.status ?? 1;
} finally {
  rmSync(folder, {recursive: true, force: true});
}
