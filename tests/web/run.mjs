// The dashboard in a real browser, over the real program.
//
//   node tests/web/run.mjs DROVER WEB [--only TEXT] [--pictures FOLDER] [PART..]
//
// WEB is the folder where the build has put web/ and its packages (build/release/web). Without parts all of them run, but `pictures`,
// which writes docs/pictures. Pages of tests that failed are in WEB/failures. Needs Node 18 and chromium.
import {existsSync} from 'node:fs';
import {dirname, join, resolve} from 'node:path';
import {fileURLToPath} from 'node:url';
import {openBrowser} from './lib/browser.mjs';
import {report, runTests} from './lib/runner.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const PARTS = [
  'smoke', 'axe', 'layout', 'keyboard', 'journeys', 'commands', 'live', 'stores', 'hostile', 'roles', 'history', 'cookies', 'rest', 'load',
];
const BY_NAME = ['pictures', 'look'];

function options(argv) {
  const given = {only: '', pictures: resolve(here, '../../docs/pictures'), parts: []};
  const words = [];
  for (let at = 0; at < argv.length; at++) {
    if (argv[at] === '--only') given.only = argv[++at] ?? '';
    else if (argv[at] === '--pictures') given.pictures = resolve(argv[++at] ?? '.');
    else words.push(argv[at]);
  }
  const [drover, web, ...parts] = words;
  if (!drover || !web || !existsSync(drover)) throw new Error('usage: node tests/web/run.mjs DROVER WEB [--only TEXT] [--pictures FOLDER] [PART..]');
  const unknown = parts.filter(part => !PARTS.includes(part) && !BY_NAME.includes(part));
  if (unknown.length) throw new Error(`no such part: ${unknown.join(', ')} (there are: ${[...PARTS, ...BY_NAME].join(', ')})`);
  return {...given, drover: resolve(drover), web: resolve(web), parts: parts.length ? parts : PARTS};
}

async function main() {
  const given = options(process.argv.slice(2));
  const tests = [];
  for (const part of given.parts)
    for (const test of (await import(`./${part}.mjs`)).default) if (`${part}: ${test.name}`.includes(given.only)) tests.push({...test, name: `${part}: ${test.name}`});
  if (!tests.length) throw new Error(`no test has "${given.only}" in its name`);
  const browser = await openBrowser(given.web);
  try {
    const outcome = await runTests(tests, {...given, browser, failures: join(given.web, 'failures')});
    report(tests.length, outcome, performance.now() / 1000);
    return outcome.failed.length ? 1 : 0;
  } finally {
    await browser.close();
  }
}

try {
  process.exit(await main());
} catch (error) {
  console.error(`web: ${error.message}`);
  process.exit(2);
}
