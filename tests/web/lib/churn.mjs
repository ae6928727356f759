// Many events a second without more tasks: runs that are claimed and given back. It shares two cores with the browser and the server, so
// calls are few and large (a batch of 500 costs both of them half as much CPU for each event as one of 100), and some are on their way at a
// time, so that a commit to the disk holds up only one of them.
import {Worker} from './worker.mjs';

const BATCH = 500;
const LANES = 3;
const BEAT_MS = 5000;
const PAUSE_MS = 5;

export class Churn {
  constructor(server, workers, perSecond) {
    Object.assign(this, {server, workers, perSecond, events: 0, promised: 0, isOn: false, isDone: Promise.resolve()});
  }

  static async prepare(server, queue, perSecond) {
    const workers = await Promise.all(Array.from({length: LANES}, (_, at) => Worker.register(server, `churn-${at}`, [queue], 10_000)));
    return new Churn(server, workers, perSecond);
  }

  async cycle(worker) {
    this.promised += 2 * BATCH;
    const claimed = await worker.claim(BATCH);
    this.promised -= 2 * (BATCH - claimed.length);
    await this.server.api('POST', '/v1/settlements', {items: claimed.map(one => ({task_id: one.task.id, lease_id: one.lease_id, end: 'release', begun: false}))});
    this.events += 2 * claimed.length;
  }

  start() {
    this.isOn = true;
    this.events = this.promised = 0;
    this.startedAt = performance.now();
    this.problem = null;
    this.isDone = Promise.all(this.workers.map(worker => this.run(worker))).catch(problem => (this.problem = problem));
  }

  async run(worker) {
    let beatAt = 0;
    while (this.isOn && !this.problem) {
      if (performance.now() - beatAt > BEAT_MS) {
        await worker.beat();
        beatAt = performance.now();
      }
      const due = ((performance.now() - this.startedAt) / 1000) * this.perSecond;
      if (this.promised < due) await this.cycle(worker);
      else await new Promise(resolve => setTimeout(resolve, PAUSE_MS));
    }
  }

  /** Events a second that came about. */
  async stop() {
    this.isOn = false;
    await this.isDone;
    if (this.problem) throw this.problem;
    return Math.round(this.events / ((performance.now() - this.startedAt) / 1000));
  }
}
