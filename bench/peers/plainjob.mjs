// plainjob: a queue on SQLite for Node, with its own settings (WAL, synchronous NORMAL). Its worker polls, so that it has no
// latency phase.
import Database from "better-sqlite3";
import { better, defineQueue, defineWorker } from "plainjob";
import { payload, run } from "./peer.mjs";

const quiet = { error: console.error, warn: console.error, info() {}, debug() {} };

const open = (path) => defineQueue({ connection: better(new Database(path)), logger: quiet });

run({
  enqueue: async (path, count) => {
    const queue = open(path);
    return async () => {
      for (let i = 0; i < count; i++) queue.add("bench", payload);
    };
  },
  bulk: async (path, count) => {
    const queue = open(path);
    return async () => {
      for (let done = 0; done < count; done += 1000) {
        queue.addMany("bench", Array(Math.min(1000, count - done)).fill(payload));
      }
    };
  },
  drain: async (path, count) => {
    const queue = open(path);
    return () =>
      new Promise((resolve) => {
        let left = count;
        const onCompleted = () => --left === 0 && resolve();
        defineWorker("bench", async () => {}, { queue, logger: quiet, onCompleted }).start();
      });
  },
});
