// A worker over REST that does what the test says, instead of running programs.

export class Worker {
  constructor(server, id, serves, capacity) {
    Object.assign(this, {server, id, serves, capacity});
  }

  static async register(server, id, queues, capacity = 100) {
    const worker = new Worker(server, id, queues.map(queue => ({queue})), capacity);
    await server.api('POST', '/v1/workers', {id, version: '0.0.0', serves: worker.serves, capacity});
    return worker;
  }

  /** Up to `n` tasks with their leases. */
  async claim(n) {
    const {tasks} = await this.server.api('POST', `/v1/workers/${this.id}/claim`, {serves: this.serves, n, capacity: this.capacity, lease_ms: 3_600_000});
    return tasks;
  }

  async settle(items) {
    for (let at = 0; at < items.length; at += 100) await this.server.api('POST', '/v1/settlements', {items: items.slice(at, at + 100)});
  }

  async beat(claimed = []) {
    await this.server.api('POST', `/v1/workers/${this.id}/heartbeat`, {leases: claimed.map(one => ({task_id: one.task.id, lease_id: one.lease_id})), lease_ms: 3_600_000});
  }

  async say(claimed, text, stream = 'stdout') {
    await this.server.api('POST', `/v1/tasks/${claimed.task.id}/log`, {lease_id: claimed.lease_id, chunks: [{stream, text}]});
  }

  async progress(claimed, percent, message) {
    await this.server.api('POST', `/v1/tasks/${claimed.task.id}/progress`, {lease_id: claimed.lease_id, percent, message});
  }
}

export const complete = (claimed, more = {}) => ({task_id: claimed.task.id, lease_id: claimed.lease_id, end: 'complete', exit_code: 0, ...more});
export const fail = (claimed, errorClass, message, more = {}) =>
  ({task_id: claimed.task.id, lease_id: claimed.lease_id, end: 'fail', class: errorClass, message, ...more});

/** Enqueues in batches; the ids in the order of the specs. */
export async function enqueue(server, specs, token = server.admin) {
  const ids = [];
  for (let at = 0; at < specs.length; at += 500) {
    const {tasks} = await server.api('POST', '/v1/tasks', {tasks: specs.slice(at, at + 500)}, {token});
    ids.push(...tasks.map(task => task.id));
  }
  return ids;
}
