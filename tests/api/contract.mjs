// openapi.yaml as something that can be asked: which operation a request is for, and what of it or of its answer breaks
// the description.
import {readFileSync} from 'node:fs';
import Ajv2020 from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import {parse} from 'yaml';

const BASE = 'drover:openapi';
const METHODS = ['get', 'put', 'post', 'delete', 'patch'];

const escaped = (key) => key.replaceAll('~', '~0').replaceAll('/', '~1');

export function loadDescription(file) {
  return parse(readFileSync(file, 'utf8'));
}

export class Contract {
  constructor(description) {
    this.description = description;
    this.ajv = new Ajv2020({strict: false, validateSchema: false, allErrors: false});
    addFormats(this.ajv);
    this.ajv.addSchema(description, BASE);
    this.validators = new Map();
    this.operations = this.#readOperations();
  }

  #readOperations() {
    const operations = [];
    for (const [path, item] of Object.entries(this.description.paths)) {
      for (const method of METHODS.filter((name) => item[name])) {
        const pointer = ['#', 'paths', path, method];
        const operation = item[method];
        const parameters = [...(item.parameters ?? []), ...(operation.parameters ?? [])].map((one) => this.resolve(one));
        const body = operation.requestBody ? this.resolve(operation.requestBody) : undefined;
        const pattern = new RegExp(`^${path.replaceAll('.', '\\.').replace(/\{[^}]+\}/g, '([^/]*)')}$`);
        operations.push({name: `${method.toUpperCase()} ${path}`, method: method.toUpperCase(), path, pattern, pointer,
          operation, parameters, body});
      }
    }
    return operations;
  }

  resolve(value) {
    while (value?.$ref && Object.keys(value).length === 1) value = this.at(value.$ref);
    return value;
  }

  at(reference) {
    return reference.split('/').slice(1).reduce(
      (value, key) => value[key.replaceAll('~1', '/').replaceAll('~0', '~')], this.description);
  }

  // What is wrong with a value, as one line; nothing if it is as the schema says.
  #complaint(schema, value) {
    let validate = this.validators.get(schema);
    if (!validate) {
      // References inside start from the description, wherever the schema stands in it.
      const rebased = JSON.parse(JSON.stringify(schema), (key, inner) =>
        key === '$ref' && typeof inner === 'string' && inner.startsWith('#') ? BASE + inner : inner);
      validate = this.ajv.compile(rebased);
      this.validators.set(schema, validate);
    }
    return validate(value) ? undefined : this.ajv.errorsText(validate.errors, {dataVar: 'value'});
  }

  find(method, target) {
    const path = target.split('?')[0];
    return this.operations.find((one) => one.method === method && one.pattern.test(path));
  }

  // What of the request the description does not allow.
  requestComplaints(operation, {target, headers, body}) {
    const complaints = [];
    const url = new URL(target, 'http://drover');
    const captures = operation.pattern.exec(target.split('?')[0])?.slice(1) ?? [];
    const names = [...operation.path.matchAll(/\{([^}]+)\}/g)].map((match) => match[1]);
    for (const parameter of operation.parameters) {
      const given = valueOf(parameter, url, headers, names, captures);
      if (given === undefined) {
        if (parameter.required) complaints.push(`${parameter.name} is missing`);
        continue;
      }
      const complaint = this.#complaint(parameter.schema, coerced(this.resolve(parameter.schema), given));
      if (complaint) complaints.push(`${parameter.name}: ${complaint}`);
    }
    return complaints.concat(this.#bodyComplaints(operation, headers, body));
  }

  #bodyComplaints(operation, headers, body) {
    if (!operation.body) return [];  // whatever comes is passed over
    if (body.length === 0) return operation.body.required ? ['there is no body'] : [];
    const type = (headers['content-type'] ?? '').split(';')[0].toLowerCase();
    const content = operation.body.content[type];
    if (!content) return [`the content type ${type} is not described`];
    if (!isJson(type)) return [];
    const value = parsed(body);
    if (value === undefined) return ['the body is no JSON'];
    const complaint = this.#complaint(content.schema, value.json);
    return complaint ? [`body: ${complaint}`] : [];
  }

  // What of the answer the description does not allow.
  answerComplaints(operation, {status, headers, body}) {
    const response = this.resolve(operation.operation.responses[String(status)]);
    if (!response) return [`the status ${status} is not described`];
    const complaints = [];
    for (const [name, one] of Object.entries(response.headers ?? {})) {
      const header = this.resolve(one);
      const given = headers[name.toLowerCase()];
      if (given === undefined) {
        if (header.required) complaints.push(`the header ${name} is missing`);
        continue;
      }
      const complaint = this.#complaint(header.schema, coerced(this.resolve(header.schema), given));
      if (complaint) complaints.push(`the header ${name}: ${complaint}`);
    }
    if (!response.content) {
      if (body.length > 0) complaints.push('there is a body');
      return complaints;
    }
    const type = (headers['content-type'] ?? '').split(';')[0];
    const content = response.content[type];
    if (!content) return complaints.concat(`the content type ${type} is not described`);
    if (!content.schema || !isJson(type)) return complaints;
    const value = parsed(body);
    if (value === undefined) return complaints.concat('the body is no JSON');
    const complaint = this.#complaint(content.schema, value.json);
    return complaint ? complaints.concat(`body: ${complaint}`) : complaints;
  }

  // One exchange: its answer must be as described, and what the description forbids must not be taken.
  violations(request, answer) {
    const operation = this.find(request.method, request.target);
    if (!operation) return answer.status < 400 ? ['there is no such operation, but it was done'] : [];
    const found = this.answerComplaints(operation, answer);
    if (answer.status < 300) {
      const forbidden = this.requestComplaints(operation, request);
      if (forbidden.length > 0) found.push(`it was done although ${forbidden.join('; ')}`);
    }
    return found;
  }
}

function valueOf(parameter, url, headers, names, captures) {
  switch (parameter.in) {
    case 'path':
      return decoded(captures[names.indexOf(parameter.name)]);
    case 'header':
      return headers[parameter.name.toLowerCase()];
    default: {
      const given = url.searchParams.getAll(parameter.name);
      if (given.length === 0) return undefined;
      return parameter.schema.type === 'array' ? given : given[0];
    }
  }
}

// A part that cannot be decoded is shown as it stands; the server refuses it.
function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

// A parameter is text; what its schema wants as a number or a truth value becomes one if it looks like it.
function coerced(schema, text) {
  if (schema.type === 'integer' && /^-?[0-9]+$/.test(text)) return Number(text);
  if (schema.type === 'boolean' && (text === 'true' || text === 'false')) return text === 'true';
  return text;
}

// Lines of JSON are not.
function isJson(type) {
  return /[/+]json$/.test(type);
}

function parsed(body) {
  try {
    return {json: JSON.parse(body.toString('utf8'))};
  } catch {
    return undefined;
  }
}
