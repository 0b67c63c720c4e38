import { ORIGIN } from './led.ts';
import type { Sent } from './recorder.ts';

// Compares the requests of two clients for one act, field by field.

/** Headers of the transport. */
const IGNORED = new Set([
  ORIGIN,
  'accept',
  'accept-encoding',
  'accept-language',
  'cache-control',
  'connection',
  'content-length',
  'content-type', // is the field `type`
  'host',
  'keep-alive',
  'pragma',
  'sec-fetch-mode',
  'transfer-encoding',
  'user-agent',
]);
/** Headers by which a client tells what it is. */
const OF_CLIENT = /^x-(?:sdk|stainless|goog-api-client|user-agent)/;
const SHOWN = 80;

type Fields = Map<string, string>;

/** Each leaf of a value by its path. An empty list or object is one. */
function leaves(path: string, value: unknown, into: Fields): void {
  const within = typeof value === 'object' && value !== null ? Object.entries(value) : [];
  if (within.length === 0) into.set(`body ${path}`, JSON.stringify(value));
  for (const [name, one] of within) leaves(`${path}/${name}`, one, into);
}
/** A field of a form: text, or JSON inside of it. */
function formField(name: string, value: string, into: Fields): void {
  if (!/^[[{]/.test(value)) return void into.set(`body /${name}`, value);
  leaves(`/${name}`, JSON.parse(value), into);
}

async function fileField(field: string, file: File, into: Fields): Promise<void> {
  into.set(field, await file.text());
  into.set(`${field} filename`, file.name);
  into.set(`${field} type`, file.type);
}

async function fieldsOf({ url, headers, body }: Sent): Promise<Fields> {
  const fields: Fields = new Map();
  for (const [name, value] of Object.entries(headers))
    if (!IGNORED.has(name) && !OF_CLIENT.test(name)) fields.set(`header ${name}`, String(value));
  for (const name of url.searchParams.keys()) fields.set(`query ${name}`, url.searchParams.getAll(name).join(' & '));
  if (body.length === 0) return fields;

  const given = headers['content-type'] ?? 'none';
  const type = given.split(';')[0]!;
  fields.set('type', type);
  if (type === 'application/json') leaves('', JSON.parse(body.toString()), fields);
  else if (type === 'application/x-www-form-urlencoded')
    for (const [name, value] of new URLSearchParams(body.toString())) formField(name, value, fields);
  else if (type === 'multipart/form-data') {
    const form = await new Response(new Uint8Array(body), { headers: { 'content-type': given } }).formData();
    const files = new Map<string, File>();
    for (const [name, value] of form)
      if (typeof value === 'string') formField(name, value, fields);
      else files.set(name, value);
    // Telegram: a field can name the part that has its file
    for (const [field, value] of fields) {
      const [, name] = /^"?attach:\/\/(\w+)"?$/.exec(value) ?? [];
      if (name === undefined || !files.has(name)) continue;
      await fileField(field, files.get(name)!, fields);
      files.delete(name);
    }
    for (const [name, file] of files) await fileField(`body /${name}`, file, fields);
  } else if (type === 'multipart/related') {
    // RFC 2387, as Google has it: a JSON part, then the file
    const [, json = '', file = ''] = body.toString().split(/--[^\r\n]+(?:\r\n|$)/);
    leaves('', JSON.parse(json.slice(json.indexOf('\r\n\r\n'))), fields);
    fields.set('body', file.slice(file.indexOf('\r\n\r\n')).trim());
  } else fields.set('body', body.toString());
  return fields;
}

/** A number or a truth is text in a form. */
const textOf = (value: string) => value.replace(/^"([^]*)"$/, '$1');
const shown = (value: string | undefined) =>
  value === undefined ? 'nothing' : value.length > SHOWN ? 'another' : value;
const addressOf = ({ url: { origin, pathname } }: Sent) => origin + pathname.replace(/\/$/, '');
const alone = (whose: string) => (one: Sent) => `${one.method} ${addressOf(one)}: ${whose} alone`;
/** Parameters of a query as those of a form, where one client asks by GET and the other by POST. */
const asForm = (fields: Fields): Fields =>
  new Map([...fields].map(([name, value]) => [name.replace(/^query /, 'body /'), value]));

/**
 * Lists what two clients sent differently, each once. Requests to one address are paired in their order. Of a field in
 * `everywhere` only the field is told.
 */
export async function deviationsOf(
  ours: readonly Sent[],
  theirs: readonly Sent[],
  everywhere: readonly string[],
): Promise<string[]> {
  const left = [...ours];
  const deviations: string[] = [];
  for (const their of theirs) {
    const here = left.filter((one) => addressOf(one) === addressOf(their));
    const own = here.find(({ method }) => method === their.method) ?? here[0];
    if (!own) {
      deviations.push(alone('theirs')(their));
      continue;
    }
    left.splice(left.indexOf(own), 1);
    const sameMethod = own.method === their.method;
    const [a, b] = (await Promise.all([own, their].map(fieldsOf))).map((one) => (sameMethod ? one : asForm(one))) as [
      Fields,
      Fields,
    ];
    a.set('method', own.method);
    b.set('method', their.method);
    const sameType = a.get('type') === b.get('type');
    for (const field of new Set([...a.keys(), ...b.keys()])) {
      const [one, other] = [a.get(field), b.get(field)];
      if (sameType ? one === other : one && other && textOf(one) === textOf(other)) continue;
      const where = `${their.method} ${their.url.pathname} ${field}`;
      deviations.push(everywhere.includes(field) ? field : `${where}: ours ${shown(one)}, theirs ${shown(other)}`);
    }
  }
  return [...new Set([...deviations, ...left.map(alone('ours'))])];
}
