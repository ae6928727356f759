// Requests made from the description: such as it allows, and such as are broken in one way or another.
import fc from 'fast-check';

const ODD_TEXTS = ['', ' ', '\u0000', '\ud83d\ude00', 'é', '\u202e', '%00', '../../etc/passwd', '\'; drop table tasks; --',
  '-1', '1e400', '9223372036854775808', 'null', 'x'.repeat(129), 'y'.repeat(5000), '{"a":1}', '@', '\uffff', '%zz', '+1', '0x10'];
const ODD_NUMBERS = [-1, 0, 1, 1.5, 1e308, -1e308, 2147483647, 2147483648, -2147483649, 9007199254740993,
  9223372036854775000, 1e19, -0.0];
// JSON that no JSON.stringify would write.
const RAW_BODIES = ['', ' ', '{', '{"a":}', '[]', '[{}]', 'null', '1', '"text"', '{"type":"a"}{}', '{"type":"a","type":"b"}',
  '{"type":"\\ud800"}', '{"type":"a","cost":1e999}', '{"type":"a","priority":00}', '\ufeff{"type":"a"}', `${'['.repeat(200)}`,
  `{"type":"a","payload":${'['.repeat(70)}${']'.repeat(70)}}`, '{"tasks":[]}', '{"tasks":null}', '{"tasks":[null]}',
  '{"tasks":{}}', '{"lease_id":null}', `{"type":"a","payload":"${'z'.repeat(300000)}"}`, '{"type":"a","payload":-0}',
  '{"type":"a","payload":123456789012345678901234567890.10e-5}'];
// Parts of a target as they stand in it.
const RAW_PARTS = ['%FF', '%C3%28', '%00', '%', '%u0041', '%2F', '..', '.', '%2e%2e', '%0d%0aX:1', '+', '&', '=', '%ED%A0%80'];
// None of these lets an answer wait for long.
const WAITS = ['0s', '0ms', '5ms', '20ms', '31s', '1x', '', '-5s', '99999999999999999999s', '36501d'];

// What the other operations live on.
const WEIGHTS = {enqueue: 8, claim: 5};

const oddValue = fc.oneof(fc.constantFrom(...ODD_TEXTS), fc.constantFrom(...ODD_NUMBERS), fc.boolean(), fc.constant(null),
  fc.constant([]), fc.constant({}), fc.array(fc.constantFrom(...ODD_TEXTS), {maxLength: 3}), fc.jsonValue({maxDepth: 3}));

export class RequestMaker {
  // `known` has things that exist: tasks, leases, workers, texts of tokens. It grows while requests are made.
  constructor(contract, known) {
    this.contract = contract;
    this.known = known;
    this.arbitraries = new Map();
  }

  requests() {
    return fc.oneof(...this.contract.operations.flatMap((operation) => {
      const types = operation.body ? Object.keys(operation.body.content) : ['application/json'];
      const weight = WEIGHTS[operation.operation.operationId] ?? 1;
      return types.map((type) => ({arbitrary: this.#request(operation, type), weight}));
    }));
  }

  // One of what exists at the time when the value is made.
  #existing(kind) {
    return fc.nat().map((n) => this.known[kind][n % this.known[kind].length]);
  }

  #request(operation, type) {
    const parameters = Object.fromEntries(operation.parameters.map((one) =>
      [`${one.in} ${one.name}`, fc.record({parameter: fc.constant(one), use: fc.nat(9), good: this.#parameter(operation, one),
        odd: fc.oneof(fc.constantFrom(...ODD_TEXTS), fc.string({unit: 'grapheme', maxLength: 20})).map((text) =>
          encodeURIComponent(wellFormed(text))),
        raw: fc.constantFrom(...RAW_PARTS)})]));
    return fc.record({
      operation: fc.constant(operation),
      parameters: fc.record(parameters),
      body: operation.body ? this.#body(operation.body.content[type].schema) : fc.oneof({weight: 9, arbitrary: fc.constant('')},
        {weight: 1, arbitrary: fc.constantFrom(...RAW_BODIES)}),
      contentType: fc.oneof({weight: 30, arbitrary: fc.constant(type)}, {weight: 1, arbitrary: fc.constantFrom(
        '', 'text/plain', 'application/json; charset=utf-8', 'application/x-www-form-urlencoded', 'APPLICATION/JSON')}),
      token: fc.oneof({weight: 30, arbitrary: fc.constant('admin')},
        {weight: 4, arbitrary: fc.constantFrom('viewer', 'producer', 'worker', 'operator', 'none', 'bad')}),
      held: operation.operation.tags.includes('Runs') ? fc.option(this.#existing('held')) : fc.constant(null),
    }).map((drawn) => this.#assemble(drawn));
  }

  #parameter(operation, parameter) {
    if (parameter.name === 'timeout') return fc.constantFrom(...WAITS);
    if (parameter.in === 'path' && parameter.name === 'id') {
      return this.#existing(operation.path.startsWith('/v1/tasks') ? 'tasks' : 'workers');
    }
    if (parameter.name === 'Drover-Lease') return this.#existing('leases');
    if (parameter.name === 'cursor') return this.#existing('cursors');
    const schema = this.contract.resolve(parameter.schema);
    return this.#valueOf(schema.type === 'array' ? schema.items : schema).map(String);
  }

  // In ten: six as described, one broken, one odd text or absent; a path always has something.
  #assemble({operation, parameters, body, contentType, token, held}) {
    let path = held ? operation.path.replace('{id}', held.task_id) : operation.path;
    if (held) body = withLease(body, held.lease_id);
    const query = [];
    const headers = {};
    for (const {parameter, use, good, odd, raw} of Object.values(parameters)) {
      const waits = parameter.name === 'timeout';
      const value = use < 8 || waits ? encodeURIComponent(wellFormed(good)) : use === 8 ? odd : raw;
      const absent = !waits && (parameter.required ? parameter.in === 'header' && use === 7 : use < 6);
      if (parameter.in === 'path') path = path.replace(`{${parameter.name}}`, value);
      if (absent) continue;
      if (parameter.in === 'query') query.push(`${parameter.name}=${value}`);
      if (held && parameter.name === 'Drover-Lease') headers['drover-lease'] = held.lease_id;
      else if (parameter.in === 'header') headers[parameter.name.toLowerCase()] = decodeOrKeep(value).replace(/[^\x20-\x7e]/g, '?');
    }
    if (contentType && body !== '') headers['content-type'] = contentType;
    if (token !== 'none') headers.authorization = `Bearer ${this.known.tokens[token] ?? token}`;
    return {method: operation.method, target: path + (query.length > 0 ? `?${query.join('&')}` : ''), headers, body};
  }

  #body(schema) {
    const good = this.#valueOf(schema);
    const broken = fc.record({value: good, pick: fc.nat(), odd: oddValue, how: fc.constantFrom('replace', 'drop', 'add')})
      .map(({value, pick, odd, how}) => broke(value, pick, odd, how));
    return fc.oneof({weight: 5, arbitrary: good.map((value) => JSON.stringify(value))},
      {weight: 4, arbitrary: broken.map((value) => JSON.stringify(value))},
      {weight: 1, arbitrary: fc.constantFrom(...RAW_BODIES)},
      {weight: 1, arbitrary: fc.record({value: good, cut: fc.nat()}).map(({value, cut}) => {
        const text = JSON.stringify(value);
        return text.slice(0, cut % (text.length + 1));
      })});
  }

  // Values that a schema describes. What is optional comes and goes.
  #valueOf(schema) {
    if (schema.$ref) return this.#referenced(schema.$ref);
    if (schema.const !== undefined) return fc.constant(schema.const);
    if (schema.enum) return fc.constantFrom(...schema.enum);
    if (schema.oneOf) return this.#oneOf(schema);
    if (Array.isArray(schema.type)) {
      return fc.oneof(...schema.type.map((type) => this.#typed({...schema, type})));
    }
    return this.#typed(schema);
  }

  #referenced(reference) {
    switch (reference.split('/').at(-1)) {
      case 'LeaseId': return this.#existing('leases');
      case 'Uuid': return this.#existing('tasks');
      case 'OptionalUuid': return fc.oneof(this.#existing('tasks'), fc.uuid({version: 7}), fc.constant(null));
      case 'Name': return this.#existing('names');
      case 'OptionalName': return fc.oneof(this.#existing('names'), fc.constant(null));
      case 'Serve': return fc.record({queue: this.#existing('names'), type: fc.option(this.#existing('names'))});
      case 'Lease': return this.#existing('held');
      default: break;
    }
    if (!this.arbitraries.has(reference)) this.arbitraries.set(reference, this.#valueOf(this.contract.at(reference)));
    return this.arbitraries.get(reference);
  }

  #oneOf(schema) {
    const {oneOf, unevaluatedProperties, ...common} = schema;
    return fc.oneof(...oneOf.map((choice) => common.properties
      ? this.#valueOf({...common, ...choice, type: 'object', properties: {...common.properties, ...choice.properties},
        required: [...(common.required ?? []), ...(choice.required ?? [])]})
      : this.#valueOf(choice)));
  }

  #typed(schema) {
    switch (schema.type) {
      case 'null': return fc.constant(null);
      case 'boolean': return fc.boolean();
      case 'integer': return integers(schema);
      case 'string': return strings(schema);
      case 'array': return fc.array(this.#valueOf(schema.items), {minLength: schema.minItems ?? 0, maxLength: 4});
      case 'object': return this.#object(schema);
      default: return fc.jsonValue({maxDepth: 4});
    }
  }

  #object(schema) {
    if (!schema.properties) return fc.constantFrom(...this.known.documents);
    const members = Object.fromEntries(Object.entries(schema.properties).map(([name, inner]) =>
      [name, name === 'wait_ms' ? fc.constantFrom(0, 5, 20, 30001, null) : this.#valueOf(inner)]));
    // Few at a time, or hardly anything would ever be taken.
    const required = (schema.required ?? []).filter((name) => members[name]);
    const optional = Object.keys(members).filter((name) => !required.includes(name));
    return fc.record({all: fc.record(members), some: fc.subarray(optional, {maxLength: Math.min(3, optional.length)})}).map(({all, some}) =>
      Object.fromEntries([...required, ...some].map((name) => [name, all[name]])));
  }
}

function integers(schema) {
  const min = schema.minimum ?? -9007199254740991;
  const max = schema.maximum ?? 9007199254740991;
  return fc.oneof(fc.integer({min: Math.max(min, -10), max: Math.min(max, 1000)}), fc.maxSafeInteger().map((number) =>
    Math.min(Math.max(number, min), max)));
}

function strings(schema) {
  if (schema.format === 'uuid') return fc.uuid({version: 7});
  if (schema.format === 'date-time') {
    return fc.date({min: new Date('0001-01-01T00:00:00Z'), max: new Date('9999-12-31T23:59:59Z'), noInvalidDate: true})
      .map((date) => date.toISOString());
  }
  if (schema.pattern) return fc.stringMatching(new RegExp(schema.pattern), {maxLength: 200});
  return fc.oneof(fc.string({maxLength: 30}), fc.string({unit: 'grapheme', maxLength: 30}), fc.constantFrom(...ODD_TEXTS));
}

// One member, somewhere, is another value, or gone, or there is one too many.
function broke(value, pick, odd, how) {
  const copy = structuredClone(value);
  const places = [];
  const walk = (inside) => {
    for (const key of Object.keys(inside ?? {})) {
      places.push([inside, key]);
      if (typeof inside[key] === 'object') walk(inside[key]);
    }
  };
  if (typeof copy !== 'object' || copy === null) return odd;
  walk(copy);
  const [inside, key] = places.length > 0 ? places[pick % places.length] : [copy, 'extra'];
  if (how === 'replace') inside[key] = odd;
  if (how === 'drop') Array.isArray(inside) ? inside.splice(Number(key), 1) : delete inside[key];
  if (how === 'add') Array.isArray(inside) ? inside.push(odd) : (inside[`${key}x`] = odd);
  return copy;
}

// The lease that belongs to the task of the path; half of all would fit hardly ever otherwise.
function withLease(body, lease) {
  return body.replace(/"lease_id":"[0-9a-f]{32}"/, `"lease_id":"${lease}"`);
}

function decodeOrKeep(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function wellFormed(text) {
  return String(text).replace(/[\ud800-\udfff]/gu, '\ufffd');
}
