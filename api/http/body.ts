import type { IncomingMessage } from 'node:http';
import {
  AppError,
  type FieldError,
  fieldError,
  invalidField,
  MOST_FAULTS,
  unknownField,
  validationFailed,
} from '../../src/platform/kernel/index.ts';
import { jsonFault } from './json-fault.ts';

/** A parsed body; `bytes` are what was sent, for the hash of an idempotent request. */
export interface JsonBody {
  value: unknown;
  bytes: Buffer;
}

/** Bytes of a JSON body unless its route says otherwise. */
export const LIMIT = 2_000_000;
/** Bytes of a form, whatever the route says of JSON: those that we take hold a few tokens and addresses. */
const FORM_LIMIT = 16_000;
const MOST_PARAMETERS = 100;
const DEPTH = 64;
/** Values of one body, for each of which a schema makes a fault at worst. */
const MOST_VALUES = 20_000;
/** The same where a route takes more than `LIMIT`. */
const MOST_OF_LARGE = 40_000;
const KEY_LENGTH = 256;
/** For a whole body: one that drips in holds a connection and a request. */
export const BODY_MS = 60_000;
/** Names that no object of a request has (S268). */
export const FORBIDDEN_KEYS = new Set(['__proto__', 'constructor', 'prototype']);
const NOTHING = Buffer.alloc(0);

const tooLarge = (limit: number) => new AppError('too_large', `The body is larger than ${limit} bytes`);
const unsupported = (message: string) => new AppError('unsupported_media', message);

/** All bytes of a request, `limit` at most; what comes after it is read and thrown away, so that the answer arrives. */
export async function collect(stream: IncomingMessage, limit: number, withinMs: number = BODY_MS): Promise<Buffer> {
  if (Number(stream.headers['content-length'] ?? 0) > limit) {
    stream.resume();
    throw tooLarge(limit);
  }
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const late = setTimeout(
      () => stop(new AppError('invalid_request', `The body did not arrive within ${withinMs / 1000} s: send it again`)),
      withinMs,
    );
    const stop = (error: Error) => {
      clearTimeout(late);
      stream.off('data', onData).off('end', onEnd).resume();
      reject(error);
    };
    const onData = (chunk: Buffer) => {
      size += chunk.length;
      if (size > limit) stop(tooLarge(limit));
      else chunks.push(chunk);
    };
    const onEnd = () => {
      clearTimeout(late);
      resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks));
    };
    stream.on('data', onData).on('end', onEnd);
    stream.once('error', stop);
    stream.once(
      'close',
      () => stream.complete || stop(new AppError('invalid_request', 'The body ended early: send it again')),
    );
  });
}

/** A value of a body, with the way to it. */
interface Place {
  value: unknown;
  key: string;
  parent: Place | undefined;
  depth: number;
}
/**
 * Made for the few places that have a fault: a long key with many values behind it is not repeated for each of them.
 */
function pathOf(place: Place | undefined): string {
  const keys: string[] = [];
  for (let at = place; at?.parent; at = at.parent) keys.unshift(at.key);
  return keys.join('.');
}

/**
 * Lists what JSON may say and our tables may not hold: odd keys, NUL, half surrogate pairs, endless nesting (S268); as
 * many faults as a refusal names.
 */
function oddities(body: unknown): FieldError[] {
  const found: FieldError[] = [];
  const add = (place: Place, what: string, ruleOf: string) => void found.push(fieldError(pathOf(place), what, ruleOf));
  const stack: Place[] = [{ value: body, key: '', parent: undefined, depth: 0 }];
  for (let here = stack.pop(); here && found.length < MOST_FAULTS; here = stack.pop()) {
    const { value, depth } = here;
    if (typeof value === 'string') {
      if (value.includes('\0') || !value.isWellFormed())
        add(here, 'contains characters that cannot be stored', 'invalid_characters');
    } else if (typeof value === 'object' && value !== null) {
      if (depth > DEPTH) return [fieldError(pathOf(here), 'nested too deeply', 'too_deep')];
      for (const key of Object.keys(value)) {
        if (key.length > KEY_LENGTH) add(here, `a key has more than ${KEY_LENGTH} characters`, 'too_big');
        else if (FORBIDDEN_KEYS.has(key)) found.push(unknownField(key, pathOf({ value, key, parent: here, depth })));
        else if (key.includes('\0') || !key.isWellFormed())
          add(here, 'a key contains characters that cannot be stored', 'invalid_characters');
        else stack.push({ value: (value as Record<string, unknown>)[key], key, parent: here, depth: depth + 1 });
        if (found.length >= MOST_FAULTS) break;
      }
    }
  }
  return found;
}

const [QUOTE, BACKSLASH, COMMA, BRACKET, BRACE] = ['"', '\\', ',', '[', '{'].map((sign) => sign.charCodeAt(0));
/**
 * Says whether a JSON text has more values than a body may have, by its commas and opening brackets, before anything is
 * made of them.
 */
function hasTooMany(json: Buffer, most: number): boolean {
  let values = 0;
  let quoted = false;
  for (let n = 0; n < json.length && values <= most; n += 1) {
    const byte = json[n];
    if (quoted) {
      if (byte === BACKSLASH) n += 1;
      else if (byte === QUOTE) quoted = false;
    } else if (byte === QUOTE) quoted = true;
    else if (byte === COMMA || byte === BRACKET || byte === BRACE) values += 1;
  }
  return values > most;
}

const utf8 = new TextDecoder('utf-8', { fatal: true });
function decode(bytes: Buffer): string {
  try {
    return utf8.decode(bytes);
  } catch (cause) {
    throw new AppError('invalid_json', 'The body is not valid JSON: it is not UTF-8', {}, { cause });
  }
}
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new AppError('invalid_json', jsonFault(text)); // without its cause, which quotes the body
  }
}

/** The parameters of a query or a form, in their order. */
export function readParameters(text: string): [name: string, value: string][] {
  const pairs = [...new URLSearchParams(text)];
  if (pairs.length > MOST_PARAMETERS)
    throw validationFailed([
      { field: '', message: `at most ${MOST_PARAMETERS} parameters are taken`, rule: 'too_big' },
    ]);
  return pairs;
}

/** The first name that stands in a query or a form twice: it says nothing certain (RFC 6749 3.1). */
export function findRepeated(pairs: readonly (readonly [name: string, value: string])[]): string | undefined {
  const seen = new Set<string>();
  return pairs.find(([name]) => seen.size === seen.add(name).size)?.[0];
}

/** A form as an object of texts. */
function readForm(text: string): Record<string, string> {
  const pairs = readParameters(text);
  const twice = findRepeated(pairs);
  if (twice !== undefined) throw invalidField(twice, 'sent twice', 'repeated');
  return Object.fromEntries(pairs);
}

/** Says whether a request comes without a body; an absent one counts as `{}` whatever its type says (S8). */
export const isBodyless = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] === undefined && (headers['content-length'] ?? '0') === '0';

/** The JSON body of a request, or with `form` an HTML form's. */
export async function readJson(
  stream: IncomingMessage,
  limit = LIMIT,
  withinMs = BODY_MS,
  form = false,
): Promise<JsonBody> {
  if (isBodyless(stream)) return { value: {}, bytes: NOTHING };
  const { 'content-encoding': encoding, 'content-type': type } = stream.headers;
  if (encoding !== undefined && encoding !== 'identity') throw unsupported('Send the body without a content encoding');
  const [media = '', ...parameters] = (type ?? '')
    .toLowerCase()
    .split(';')
    .map((part) => part.trim());
  const isForm = form && media === 'application/x-www-form-urlencoded';
  const bytes = await collect(stream, isForm ? Math.min(limit, FORM_LIMIT) : limit, withinMs);
  if (bytes.length === 0) return { value: {}, bytes };
  if (media !== 'application/json' && !isForm) throw unsupported('Send JSON with `Content-Type: application/json`');
  if (parameters.some((parameter) => parameter.startsWith('charset=') && !/^charset="?utf-?8"?$/.test(parameter)))
    throw unsupported('Send JSON as UTF-8');
  const most = limit > LIMIT ? MOST_OF_LARGE : MOST_VALUES;
  if (!isForm && hasTooMany(bytes, most)) throw invalidField('', `has more than ${most} values`, 'too_big');
  const text = decode(bytes);
  const value: unknown = isForm ? readForm(text) : parseJson(text);
  const errors = oddities(value);
  if (errors.length > 0) throw validationFailed(errors);
  return { value, bytes };
}
