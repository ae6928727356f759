// 100,000 tasks and 5,000 events a second while somebody scrolls, and a payload of 1 MiB: frames, long tasks and memory of the page.
import {show} from './lib/browser.mjs';
import {Churn} from './lib/churn.mjs';
import {watchOthers} from './lib/others.mjs';
import {check, until} from './lib/until.mjs';
import {enqueue} from './lib/worker.mjs';

const TASKS = Number(process.env.DROVER_WEB_TASKS ?? 100_000);
const EVENTS_PER_SECOND = 5000;
const SCROLL_MS = 12_000;
const GROWTH_MINUTES = Number(process.env.DROVER_WEB_MINUTES ?? 1);

const LIMITS = {p99FrameMs: 50, longTasks: 1, heapMb: 60, growthMb: 5};
const LONG_MS = 50;

/** Milliseconds of CPU of every task that the page's own thread ran, from a trace. */
function tasksOf(trace) {
  const {traceEvents: events} = JSON.parse(trace.toString());
  const frame = events.find(event => event.name === 'FireAnimationFrame');
  return events.filter(event => event.name === 'RunTask' && event.ph === 'X' && event.pid === frame.pid && event.tid === frame.tid).map(event => (event.tdur ?? event.dur) / 1000);
}

async function scrollAndMeasure(browser, page, ms) {
  await browser.startTracing(page, {categories: ['devtools.timeline', 'disabled-by-default-devtools.timeline']});
  const others = watchOthers();
  const wall = {...(await scroll(page, ms)), others: others()};
  const tasks = tasksOf(await browser.stopTracing());
  check(tasks.length > wall.frames, 'the trace has no tasks of the page');
  return {...wall, cpuPerFrame: tasks.reduce((sum, one) => sum + one, 0) / wall.frames, longCpu: tasks.filter(one => one > LONG_MS).map(Math.round)};
}

/** Scrolls for a while as a wheel does, and measures every frame and every task of the page over 50 ms. */
function scroll(page, ms) {
  return page.evaluate(async duration => {
    const table = document.querySelector('.table');
    const long = [];
    const observer = new PerformanceObserver(list => list.getEntries().forEach(entry => long.push(Math.round(entry.duration))));
    observer.observe({type: 'longtask'});
    const frames = [];
    const end = performance.now() + duration;
    let last = performance.now();
    let step = 240;
    await new Promise(resolve => {
      const frame = at => {
        frames.push(at - last);
        last = at;
        if (table.scrollTop + table.clientHeight >= table.scrollHeight - 10 || table.scrollTop <= 0) step = table.scrollTop <= 0 ? 240 : -240;
        table.scrollTop += step;
        if (at < end) requestAnimationFrame(frame);
        else resolve();
      };
      requestAnimationFrame(frame);
    });
    observer.disconnect();
    const sorted = frames.slice(2).sort((one, other) => one - other);
    return {frames: sorted.length, p50: sorted[Math.floor(sorted.length / 2)], p99: sorted[Math.floor(sorted.length * 0.99)], worst: sorted.at(-1), long};
  }, ms);
}

async function heapMb(page) {
  const session = await page.context().newCDPSession(page);
  await session.send('HeapProfiler.enable');
  await session.send('HeapProfiler.collectGarbage');
  const {usedSize} = await session.send('Runtime.getHeapUsage');
  await session.detach();
  return Math.round(usedSize / 104_857.6) / 10;
}

/** Goes to the end of the list until all of it is here. */
async function loadAll(page, total) {
  const begun = performance.now();
  await until('the whole list is loaded', () => page.evaluate(async wanted => {
    const table = document.querySelector('.table');
    const end = performance.now() + 1000;
    while (performance.now() < end) {
      table.scrollTop = table.scrollHeight;
      await new Promise(resolve => requestAnimationFrame(resolve));
    }
    return Number(table.getAttribute('aria-rowcount')) - 1 >= wanted;
  }, total), 300_000);
  return Math.round((performance.now() - begun) / 100) / 10;
}

/** Times on the wall are judged only while the machine is ours; times of the CPU always are. */
function saysBusy({cores, areBusy}) {
  if (areBusy) console.log(`      other programs used ${cores} cores meanwhile: times on the wall are not judged`);
  return areBusy;
}

function report(desk, what, measured) {
  desk.figure(`${what}: frames`, measured.frames, `in ${SCROLL_MS / 1000} s, median ${measured.p50.toFixed(1)} ms, worst ${measured.worst.toFixed(1)} ms`);
  const isBusy = saysBusy(measured.others);
  desk.figure(`${what}: 99th percentile of frames`, Math.round(measured.p99 * 10) / 10, 'ms', isBusy ? undefined : LIMITS.p99FrameMs);
  desk.figure(`${what}: tasks over ${LONG_MS} ms on the wall`, measured.long.length, '', isBusy ? undefined : LIMITS.longTasks);
  desk.figure(`${what}: tasks over ${LONG_MS} ms of CPU`, measured.longCpu.length, measured.longCpu.length ? `(${measured.longCpu.join(', ')} ms)` : '', LIMITS.longTasks);
  desk.figure(`${what}: CPU of the page for a frame, mean`, Math.round(measured.cpuPerFrame * 10) / 10, 'ms', LIMITS.p99FrameMs / 2);
}

async function many(desk) {
  const server = await desk.server();
  const random = ['eng', 'docs', 'ci'];
  await enqueue(server, Array.from({length: TASKS}, (_, at) => ({type: ['fix', 'review', 'draft'][at % 3], queue: random[at % 3], owner: ['ann', 'bob'][at % 2], prompt: `Fix the failing test in src/parser, number ${at}`})));
  const page = await desk.page(server, {path: '/tasks'});
  await page.locator('.row:not([hidden])').first().waitFor();
  desk.figure(`${TASKS} tasks: the list from start to end`, await loadAll(page, TASKS), 's');
  await page.mouse.move(600, 500);
  report(desk, 'at rest', await scrollAndMeasure(desk.browser, page, SCROLL_MS));
  const churn = await Churn.prepare(server, 'eng', EVENTS_PER_SECOND);
  const others = watchOthers();
  churn.start();
  await until('events come in', () => page.evaluate(() => /[1-9]/.test(document.querySelector('.live').title.match(/; ([\d,]+) events/)?.[1] ?? '')));
  const measured = await scrollAndMeasure(desk.browser, page, SCROLL_MS);
  const first = await heapMb(page);
  await new Promise(resolve => setTimeout(resolve, GROWTH_MINUTES * 60_000));
  const last = await heapMb(page);
  const rate = await churn.stop();
  desk.figure('events a second meanwhile', rate, '');
  report(desk, 'under load', measured);
  desk.figure('heap of the page', last, 'MB', LIMITS.heapMb);
  desk.figure(`growth in ${GROWTH_MINUTES} min`, Math.round((last - first) * 10) / 10, 'MB', LIMITS.growthMb);
  check(rate > EVENTS_PER_SECOND * (saysBusy(others()) ? 0.3 : 0.98), `this machine made only ${rate} events a second`);
  check(await page.locator('.live.live').count() === 1, 'the page is not live any more');
}

async function largePayload(desk) {
  const server = await desk.server();
  const payload = {files: Array.from({length: 9000}, (_, at) => ({path: `src/module_${at}/file.c`, sha: 'a'.repeat(40), lines: at, isNew: at % 2 === 0}))};
  check(JSON.stringify(payload).length > 900_000, 'the payload is too small');
  const [id] = await enqueue(server, [{type: 'fix', queue: 'eng', prompt: 'Large', payload}]);
  const page = await desk.page(server);
  await page.evaluate(() => {
    window.longTasks = [];
    new PerformanceObserver(list => list.getEntries().forEach(entry => window.longTasks.push(Math.round(entry.duration)))).observe({type: 'longtask'});
  });
  const others = watchOthers();
  const begun = performance.now();
  await show(page, `/tasks/${id}?tab=data`);
  await page.getByText('src/module_0/file.c').or(page.getByText(/9,000 items/)).first().waitFor();
  const took = Math.round(performance.now() - begun);
  const isBusy = saysBusy(others());
  desk.figure(`a payload of ${Math.round(JSON.stringify(payload).length / 1024)} KiB is shown after`, took, 'ms', isBusy ? undefined : 1000);
  const long = await page.evaluate(() => window.longTasks);
  desk.figure('tasks over 50 ms for it', long.length, long.length ? `(${long.join(', ')} ms)` : '', isBusy ? undefined : LIMITS.longTasks);
  desk.figure('elements of the page', await page.evaluate(() => document.querySelectorAll('*').length), '', 4000);
  desk.figure('heap with it', await heapMb(page), 'MB', LIMITS.heapMb);
}

export default [
  {name: `${TASKS} tasks, ${EVENTS_PER_SECOND} events a second`, ms: 1_200_000, run: many},
  {name: 'a payload of 1 MiB', run: largePayload},
];
