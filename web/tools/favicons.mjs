// The page's icon in every colour that a server can have. `img-src 'self'` forbids data: addresses, so each one is a file;
// the shell lists them as <meta name="drover-icon-COLOUR">.
import {readFileSync} from 'node:fs';
import {dirname, join} from 'node:path';
import {fileURLToPath} from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));

// One list for the styles, the icons and the page: src/lib/server_colours.json.
export const COLOURS = JSON.parse(readFileSync(join(here, '../src/lib/server_colours.json'), 'utf8'));

export function faviconFiles() {
  return Object.entries(COLOURS).map(([name, colour]) => ({
    name: `icon-${name}.svg`,
    data: Buffer.from(
      `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="8" fill="${colour}"/>` +
      `<path d="M9 8h6.5a8 8 0 0 1 0 16H9zm4 4v8h2.5a4 4 0 0 0 0-8z" fill="#fff"/><circle cx="24.5" cy="24.5" r="2.5" fill="#fff"/></svg>`),
  }));
}
