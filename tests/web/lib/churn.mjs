// Many events a second without more tasks: runs that are claimed and given back.
import {Worker} from './worker.mjs';

const BATCH = 100;
const BEAT_MS = 5000;

export class Churn {
  constructor(server, worker, perSecond) {
    Object.assign(this, {server, worker, perSecond, events: 0, isOn: false, isDone: Promise.resolve()});
  }

  static async prepare(server, queue, perSecond) {
    return new Churn(server, await Worker.register(server, `churn-${perSecond}`, [queue], 10_000), perSecond);
  }

  async cycle() {
    const claimed = await this.worker.claim(BATCH);
    await this.server.api('POST', '/v1/settlements', {items: claimed.map(one => ({task_id: one.task.id, lease_id: one.lease_id, end: 'release', begun: false}))});
    this.events += 2 * claimed.length;
  }

  start() {
    this.isOn = true;
    this.events = 0;
    this.startedAt = performance.now();
    this.problem = null;
    this.isDone = this.run().catch(problem => (this.problem = problem));
  }

  async run() {
    let beatAt = 0;
    while (this.isOn) {
      if (performance.now() - beatAt > BEAT_MS) {
        await this.worker.beat();
        beatAt = performance.now();
      }
      const due = ((performance.now() - this.startedAt) / 1000) * this.perSecond;
      if (this.events < due) await this.cycle();
      else await new Promise(resolve => setTimeout(resolve, 5));
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
