/** The examples run, and print what they should. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readdirSync } from "node:fs";
import { it } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { onEveryStore } from "./support/suite.js";

const printed: Record<string, string> = {
  resize: "cat-640.png 64000\n{\n  completed: 1,\n  failed: 0,\n  released: 0,\n  cancelled: 0,\n  suspended: 0,\n  lost: 0\n}\n",
  failures: "busy: called after 2 earlier runs\nflaky: called at the second attempt\nnowhere: failed as invalid: no such address: nowhere\n",
  ask: "Deploy 1.4 to production?\n1.4 is deployed\n1 suspended, 1 completed\n",
  report: "6 words\n4 runs completed, 1 waited for children\n",
  checkpoint: "starts at file 0\ncopies file 0\ncopies file 1\nstarts at file 2\ncopies file 2\ncopies file 3\n4 files\n1 attempt\n",
  from_bullmq: "12\nfailed: no such city\n",
  watch: "task.enqueued (pending)\ntask.claimed (running)\ntask.progressed (running)\ntask.completed (completed)\nHello, Ada!\n",
};
const folder = fileURLToPath(new URL("../examples/", import.meta.url));
const run = promisify(execFile);

onEveryStore("the examples", (place) => {
  it("are all listed here", () => {
    const names = readdirSync(folder).filter((name) => name.endsWith(".js")).map((name) => name.slice(0, -3));
    assert.deepEqual(names.sort(), Object.keys(printed).sort());
  });

  for (const [name, text] of Object.entries(printed)) {
    it(name, async () => {
      const env = { ...process.env, DROVER_STORE: place.server.url, DROVER_TOKEN: place.server.token("admin") };
      const { stdout, stderr } = await run(process.execPath, [`${folder}${name}.js`], { env, timeout: 60_000 });
      assert.equal(stdout, text);
      assert.equal(stderr, "");
    });
  }
});
