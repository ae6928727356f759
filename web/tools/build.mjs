// Bundles the dashboard: hashed, immutable assets, the shell index.html and manifest.json, which lists them for whoever embeds them.
//
//   node tools/build.mjs [--out FOLDER] [--development]
//
// DROVER_WEB_OUT names the folder too; web/dist is the default. The build fails when everything together, compressed, is larger than
// the budget: a dashboard that is slow to load is not opened.
import {createHash} from 'node:crypto';
import {mkdir, readFile, rm, writeFile} from 'node:fs/promises';
import {dirname, join, resolve} from 'node:path';
import {fileURLToPath} from 'node:url';
import {gzipSync} from 'node:zlib';
import esbuild from 'esbuild';
import {faviconFiles} from './favicons.mjs';

const BUDGET_GZIP_BYTES = 100 * 1024;
// The server replaces it by the path of --public-url ("" at the root of a host); see web/README.md.
const BASE_PLACEHOLDER = '%BASE%';

const web = resolve(dirname(fileURLToPath(import.meta.url)), '..');

function outputFolder(argv) {
  const at = argv.indexOf('--out');
  if (at >= 0 && !argv[at + 1]) throw new Error('--out needs a folder');
  return resolve(at >= 0 ? argv[at + 1] : process.env.DROVER_WEB_OUT || join(web, 'dist'));
}

async function bundle(development) {
  const result = await esbuild.build({
    absWorkingDir: web,
    entryPoints: [{in: 'src/main.tsx', out: 'app'}, {in: 'src/styles/app.css', out: 'style'}],
    bundle: true,
    write: false,
    outdir: '/assets',
    format: 'esm',
    target: ['chrome111', 'firefox115', 'safari16.4'],
    minify: !development,
    sourcemap: development ? 'inline' : false,
    legalComments: 'none',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    define: {'process.env.NODE_ENV': development ? '"development"' : '"production"'},
    metafile: true,
    logLevel: 'warning',
  });
  return result.outputFiles.map(file => ({name: file.path.split('/').pop(), data: Buffer.from(file.contents)}));
}

function hashed(name, data) {
  const hash = createHash('sha256').update(data).digest('hex').slice(0, 12);
  const dot = name.lastIndexOf('.');
  return `${name.slice(0, dot)}.${hash}${name.slice(dot)}`;
}

const TYPES = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
  html: 'text/html; charset=utf-8',
};
const typeOf = name => TYPES[name.slice(name.lastIndexOf('.') + 1)];

async function shell(names) {
  const template = await readFile(join(web, 'src/index.html'), 'utf8');
  return template.replace(/\{\{([^}]+)\}\}/g, (_, name) => {
    const file = name === 'base' ? '' : names.get(name);
    if (file === undefined) throw new Error(`index.html names ${name}, which the build does not make`);
    return name === 'base' ? BASE_PLACEHOLDER : `${BASE_PLACEHOLDER}/assets/${file}`;
  });
}

export async function build({out, development = false, quiet = false}) {
  const files = [...(await bundle(development)), ...faviconFiles()];
  const names = new Map();
  const entries = [];
  await rm(join(out, 'assets'), {recursive: true, force: true});
  await mkdir(join(out, 'assets'), {recursive: true});
  for (const {name, data} of files) {
    const file = hashed(name, data);
    names.set(name, file);
    await writeFile(join(out, 'assets', file), data);
    entries.push({path: `assets/${file}`, type: typeOf(file), bytes: data.length, gzip_bytes: gzipSync(data, {level: 9}).length});
  }
  const html = Buffer.from(await shell(names));
  await writeFile(join(out, 'index.html'), html);
  const gzip = entries.reduce((sum, entry) => sum + entry.gzip_bytes, gzipSync(html, {level: 9}).length);
  const manifest = {shell: 'index.html', shell_type: TYPES.html, base_placeholder: BASE_PLACEHOLDER, gzip_bytes: gzip, assets: entries};
  await writeFile(join(out, 'manifest.json'), JSON.stringify(manifest, null, 2) + '\n');
  if (!quiet) {
    for (const entry of entries) console.log(`${String(entry.gzip_bytes).padStart(7)}  ${entry.path}`);
    console.log(`${String(gzip).padStart(7)}  bytes with gzip, of ${BUDGET_GZIP_BYTES}`);
  }
  if (!development && gzip > BUDGET_GZIP_BYTES) throw new Error(`the dashboard is too large: ${gzip} bytes with gzip, the budget is ${BUDGET_GZIP_BYTES}`);
  return manifest;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    await build({out: outputFolder(process.argv.slice(2)), development: process.argv.includes('--development')});
  } catch (error) {
    console.error(`build: ${error.message}`);
    process.exitCode = 1;
  }
}
