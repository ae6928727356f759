/** A suite that runs on every store, each time with a server of its own. */

import { after, before, describe } from "node:test";
import { type StoreKind, stores, TestServer } from "./server.js";

export interface Place {
  readonly server: TestServer;
  readonly kind: StoreKind;
}

export function onEveryStore(name: string, suite: (place: Place) => void): void {
  for (const kind of stores) {
    describe(`${name} on ${kind}`, () => {
      let server: TestServer | undefined;
      before(async () => {
        server = await TestServer.start(kind);
      });
      after(() => server?.close());
      suite({
        kind,
        get server() {
          return server as TestServer;
        },
      });
    });
  }
}
