// axe over a page, by the rules of WCAG 2.2 AA. It is evaluated by the debugger, so that the page's CSP stays in force.
import {createRequire} from 'node:module';
import {readFileSync} from 'node:fs';
import {join} from 'node:path';

const TAGS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'];

/** One line for each thing that is wrong. */
export async function axeFindings(page, web) {
  const source = readFileSync(createRequire(join(web, 'package.json')).resolve('axe-core/axe.min.js'), 'utf8');
  if (!(await page.evaluate('typeof axe !== "undefined"'))) await page.evaluate(`${source}; undefined`);
  const result = await page.evaluate(tags => window.axe.run(document, {runOnly: {type: 'tag', values: tags}, resultTypes: ['violations']}), TAGS);
  return result.violations.flatMap(violation => violation.nodes.slice(0, 5).map(node => `${violation.id} (${violation.impact}): ${node.target.join(' ')}: ${node.failureSummary.split('\n').slice(1, 2).join(' ').trim()}`));
}
