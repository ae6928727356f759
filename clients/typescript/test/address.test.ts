/** Addresses of servers. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Client, Invalid } from "drover-client";
import { parseAddress, parseAddresses } from "../src/address.js";

describe("addresses", () => {
  it("are http, https and Unix sockets", () => {
    assert.deepEqual(parseAddress("http://queue"), { kind: "http", host: "queue", port: 7711, hostHeader: "queue" });
    assert.deepEqual(parseAddress("http://[::1]:80/"), { kind: "http", host: "::1", port: 80, hostHeader: "[::1]:80" });
    assert.deepEqual(parseAddress("https://q.example.org"), { kind: "https", host: "q.example.org", port: 443, hostHeader: "q.example.org" });
    assert.deepEqual(parseAddress("https://q:1?ca=/etc/a%20b.pem"), { kind: "https", host: "q", port: 1, caFile: "/etc/a b.pem", hostHeader: "q:1" });
    assert.deepEqual(parseAddress("unix:/run/s"), { kind: "unix", host: "drover", port: 0, socketPath: "/run/s", hostHeader: "drover" });
    assert.equal(parseAddresses("http://a,http://b:1").length, 2);
  });

  it("are nothing else, and errors tell no secrets", () => {
    for (const url of ["", "queue", "redis://h", "sqlite:x", "http://", "http://a:0", "http://a:70000", "http://a/b", "http://a?ca=f", "unix:", "http://a,", "http://u:secret@a", "https://a?token=secret"]) {
      assert.throws(() => new Client({ url }), (error) => error instanceof Invalid && !error.message.includes("secret"), url);
    }
  });

  it("come from the environment unless they are given", () => {
    process.env["DROVER_STORE"] = "sqlite:/x";
    try {
      assert.throws(() => new Client(), Invalid);
      assert.ok(new Client({ url: "http://a" }));
    } finally {
      delete process.env["DROVER_STORE"];
    }
    assert.equal(new Client().calls.options.addresses[0]?.port, 7711);
  });

  it("go with tokens that fit into a header", () => {
    assert.throws(() => new Client({ url: "http://a", token: "a\r\nb" }), Invalid);
  });
});
