// Pictures of every page in both themes and both sizes, for people to look at: --pictures names the folder.
import {mkdirSync} from 'node:fs';
import {join} from 'node:path';
import {settled, show} from './lib/browser.mjs';
import {addWaiting, makeFleet} from './lib/fleet.mjs';
import {everyPage, exemplars} from './lib/pages.mjs';

export default [{
  name: 'every page',
  ms: 900_000,
  async run(desk) {
    const server = await desk.server({name: 'staging'});
    const fleet = await makeFleet(server, {total: Number(process.env.DROVER_LOOK_TASKS ?? 10_000), done: 90});
    await addWaiting(server, fleet.random, {held: 300});
    const pages = everyPage(await exemplars(server));
    mkdirSync(desk.pictures, {recursive: true});
    for (const size of ['wide', 'narrow'])
      for (const theme of ['light', 'dark']) {
        const page = await desk.page(server, {size, theme});
        for (const [name, path] of pages) {
          await show(page, path);
          await page.locator('.live.live').waitFor();
          await page.evaluate(() => new Promise(resolve => setTimeout(resolve, 150)));
          await settled(page);
          await page.screenshot({path: join(desk.pictures, `${name}.${size}.${theme}.png`)});
        }
      }
  },
}];
