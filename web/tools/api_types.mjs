// Writes src/api/types.ts from the server's openapi.yaml: one TypeScript type for each schema, and one entry for each operation.
//
//   node tools/api_types.mjs           write it
//   node tools/api_types.mjs --check   fail if it differs from what is there
//   node tools/api_types.mjs --source FILE   read another description
import {readFile, writeFile} from 'node:fs/promises';
import {dirname, join, resolve} from 'node:path';
import {fileURLToPath} from 'node:url';
import {parse} from 'yaml';

const web = resolve(dirname(fileURLToPath(import.meta.url)), '..');
export const SOURCE = join(web, '../src/server/openapi.yaml');
export const TARGET = join(web, 'src/api/types.ts');

const METHODS = ['get', 'post', 'put', 'patch', 'delete'];
const nameOf = ref => ref.slice(ref.lastIndexOf('/') + 1);
const quoted = value => JSON.stringify(value);
const key = name => (/^[A-Za-z_][A-Za-z0-9_]*$/.test(name) ? name : quoted(name));
const union = parts => [...new Set(parts)].join(' | ') || 'never';
const grouped = text => (text.includes(' | ') || text.includes(' & ') ? `(${text})` : text);

function objectType(schema, indent) {
  const required = new Set(schema.required ?? []);
  const inner = indent + '  ';
  const members = Object.entries(schema.properties ?? {}).map(
    ([name, value]) => `${inner}${key(name)}${required.has(name) ? '' : '?'}: ${typeOf(value, inner)};`);
  const rest = schema.additionalProperties;
  if (rest === true || (rest === undefined && members.length === 0)) members.push(`${inner}[name: string]: unknown;`);
  else if (rest && typeof rest === 'object') members.push(`${inner}[name: string]: ${typeOf(rest, inner)};`);
  return members.length ? `{\n${members.join('\n')}\n${indent}}` : 'Record<string, never>';
}

function oneType(type, schema, indent) {
  switch (type) {
    case 'string': return 'string';
    case 'integer':
    case 'number': return 'number';
    case 'boolean': return 'boolean';
    case 'null': return 'null';
    case 'array': return `${grouped(typeOf(schema.items ?? {}, indent))}[]`;
    case 'object': return objectType(schema, indent);
    default: throw new Error(`unknown type ${type}`);
  }
}

function typeOf(schema, indent = '') {
  if (schema.$ref) return nameOf(schema.$ref);
  if ('const' in schema) return quoted(schema.const);
  if (schema.enum) return union(schema.enum.map(quoted));
  const parts = schema.oneOf ?? schema.anyOf;
  if (parts) {
    const own = schema.properties ? objectType(schema, indent) + ' & ' : '';
    const variants = parts.map(part => typeOf(part.properties && !part.type ? {...part, type: 'object'} : part, indent));
    return own ? own + grouped(union(variants)) : union(variants);
  }
  if (schema.allOf) return schema.allOf.map(part => grouped(typeOf(part, indent))).join(' & ');
  if (Array.isArray(schema.type)) return union(schema.type.map(type => oneType(type, schema, indent)));
  if (schema.type) return oneType(schema.type, schema, indent);
  if (schema.properties) return objectType(schema, indent);
  return 'unknown';
}

const resolveRef = (document, value) =>
  value?.$ref ? value.$ref.slice(2).split('/').reduce((at, step) => at[step], document) : value;

function parameterType(parameters, place) {
  const mine = parameters.filter(parameter => parameter.in === place);
  if (!mine.length) return null;
  const members = mine.map(parameter => {
    let type = typeOf(parameter.schema);
    // A list may be given once with commas, too.
    if (parameter.schema?.type === 'array') type = union([type, 'string']);
    return `${key(parameter.name)}${parameter.required ? '' : '?'}: ${type}`;
  });
  return `{${members.join('; ')}}`;
}

function answerType(document, responses) {
  const answers = [];
  for (const [status, value] of Object.entries(responses)) {
    if (!status.startsWith('2')) continue;
    const content = resolveRef(document, value).content;
    if (!content) answers.push('null');
    else if (content['application/json']) answers.push(typeOf(content['application/json'].schema, '    '));
    else answers.push('string');
  }
  return union(answers);
}

function operation(document, path, shared, method, value) {
  const parameters = [...(shared ?? []), ...(value.parameters ?? [])].map(parameter => resolveRef(document, parameter));
  const lines = [`  /** ${value.summary} */`, `  '${method.toUpperCase()} ${path}': {`];
  for (const place of ['path', 'query']) {
    const type = parameterType(parameters, place);
    if (type) lines.push(`    ${place}${place === 'path' || parameters.some(p => p.in === place && p.required) ? '' : '?'}: ${type};`);
  }
  const body = resolveRef(document, value.requestBody);
  const schema = body?.content?.['application/json']?.schema;
  if (schema) lines.push(`    body${body.required ? '' : '?'}: ${typeOf(schema, '    ')};`);
  lines.push(`    answer: ${answerType(document, value.responses)};`, '  };');
  return lines.join('\n');
}

export function generate(text) {
  const document = parse(text, {maxAliasCount: -1});
  const out = [
    '// Generated by tools/api_types.mjs from src/server/openapi.yaml. Do not edit: `npm run types` writes it.',
    '',
  ];
  for (const [name, schema] of Object.entries(document.components.schemas)) {
    if (schema.description) out.push(`/** ${schema.description.trim().replaceAll('*/', '* /').replace(/\s*\n\s*/g, ' ')} */`);
    out.push(`export type ${name} = ${typeOf(schema)};`, '');
  }
  out.push('export interface Operations {');
  for (const [path, item] of Object.entries(document.paths))
    for (const method of METHODS) if (item[method]) out.push(operation(document, path, item.parameters, method, item[method]));
  out.push('}', '');
  return out.join('\n');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const at = process.argv.indexOf('--source');
  const text = generate(await readFile(at < 0 ? SOURCE : process.argv[at + 1], 'utf8'));
  if (!process.argv.includes('--check')) {
    await writeFile(TARGET, text);
  } else if (text !== (await readFile(TARGET, 'utf8').catch(() => ''))) {
    console.error('types: src/api/types.ts is not what openapi.yaml describes; run `npm run types`');
    process.exitCode = 1;
  }
}
