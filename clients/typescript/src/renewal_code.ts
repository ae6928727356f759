/**
 * The text that the renewal thread is started from. In the package, tools/embed_thread.mjs has replaced this by a literal: a bundler that
 * rewrites functions would otherwise leave names in it that only the bundle has.
 */

import { renewalThread } from "./renewal_thread.js";

export const renewalCode = `(${renewalThread.toString()})()`;
