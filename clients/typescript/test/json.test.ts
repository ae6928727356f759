/** What is read and written as JSON, without a server. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Invalid } from "../src/errors.js";
import { elementSpans, memberSpans, memberText, parseJson, writeJson } from "../src/json.js";

const unsafe = (error: unknown): boolean => error instanceof Invalid && error.code === "unsafe_integer";

describe("reading JSON", () => {
  const large = '{"a":[1,-12345678901234567890,{"b":"\\u00e9\\"12345678901234567890"}],"c":1.5e3,"d":null,"e":true,"f":{},"g":[]}';

  it("gives the same as JSON.parse where no integer is too large", () => {
    for (const text of ["1", '"x"', "[]", "{}", '{"a":9007199254740991}', '["1234567890123456789"]', '{"x":0.1234567890123456789}']) {
      assert.deepEqual(parseJson(text, "error"), JSON.parse(text), text);
    }
  });

  it("refuses, keeps or rounds integers that a number cannot hold", () => {
    assert.throws(() => parseJson(large, "error"), unsafe);
    const exact = parseJson(large, "bigint") as { a: unknown[] };
    assert.equal(exact.a[1], -12345678901234567890n);
    assert.deepEqual(parseJson(large, "number"), JSON.parse(large));
    assert.deepEqual({ ...exact, a: [1, -12345678901234567000, { b: 'é"12345678901234567890' }] }, JSON.parse(large));
  });

  it("refuses what is not JSON, also with large integers", () => {
    for (const text of ["[12345678901234567890", "{12345678901234567890:1}", "12345678901234567890x"]) {
      assert.throws(() => parseJson(text, "bigint"), SyntaxError, text);
    }
  });

  it("does not let a document change a prototype", () => {
    const value = parseJson('{"__proto__":{"x":12345678901234567890}}', "bigint") as object;
    assert.equal(Object.getPrototypeOf(value), Object.prototype);
    assert.deepEqual(Object.keys(value), ["__proto__"]);
  });
});

describe("writing JSON", () => {
  it("refuses what JSON cannot say", () => {
    const cycle: Record<string, unknown> = {};
    cycle["self"] = cycle;
    for (const value of [cycle, { n: 1n }, "\ud800", { "\udc00": 1 }, ["\\\\\ud800"]]) {
      assert.throws(() => writeJson(value, "error", "it"), (error) => error instanceof Invalid && error.code === "invalid_json");
    }
    assert.throws(() => writeJson({ n: 12345678901234567890 }, "error", "it"), unsafe);
  });

  it("takes what only looks wrong", () => {
    for (const value of ["\\ud800", "\\\\ud800", "😀", { n: 9007199254740991 }, "12345678901234567890"]) {
      assert.equal(writeJson(value, "error", "it"), JSON.stringify(value));
    }
  });

  it("writes BigInt exactly where it is allowed", () => {
    const value = { a: 12345678901234567890n, b: ["bigint-0", -1n], c: { toJSON: () => "x" } };
    assert.equal(writeJson(value, "bigint", "it"), '{"a":12345678901234567890,"b":["bigint-0",-1],"c":"x"}');
  });

  it("has no text for undefined", () => {
    assert.equal(writeJson(undefined, "error", "it"), undefined);
  });
});

describe("the text of a part", () => {
  const text = ' {"a" : [1.10, {"x":"]\\"}"}, "\\\\"] , "b\\u0061":{"p": 12345678901234567890 }, "n":null } ';

  it("is exact", () => {
    assert.equal(memberText(text, "a"), '[1.10, {"x":"]\\"}"}, "\\\\"]');
    assert.equal(memberText(text, "ba"), '{"p": 12345678901234567890 }');
    assert.equal(memberText(text, "n"), "null");
    assert.equal(memberText(text, "z"), undefined);
    const [start] = memberSpans(text).get("a") as readonly [number, number];
    assert.deepEqual(
      elementSpans(text, start).map(([from, to]) => text.slice(from, to)),
      ["1.10", '{"x":"]\\"}"}', '"\\\\"'],
    );
  });

  it("is found in empty documents", () => {
    assert.deepEqual([...memberSpans("{ }")], []);
    assert.deepEqual(elementSpans("[ ]"), []);
  });
});
