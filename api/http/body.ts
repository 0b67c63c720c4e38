import type { IncomingMessage } from 'node:http';
import { AppError, type FieldError, validationFailed } from '../../src/kernel/index.ts';

/** A parsed body; `bytes` are what was sent, for the hash of an idempotent request. */
export interface JsonBody {
  value: unknown;
  bytes: Buffer;
}

const LIMIT = 2_000_000;
/** Bytes of a form, whatever the route says of JSON: those that we take hold a few tokens and addresses. */
const FORM_LIMIT = 16_000;
const MOST_PARAMETERS = 100;
const DEPTH = 64;
/** For a whole body: one that drips in holds a connection and a request. */
export const BODY_MS = 60_000;
const FORBIDDEN_KEYS = new Set(['__proto__', 'constructor', 'prototype']);
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
    const late = setTimeout(() => stop(new AppError('invalid_request', `The body was not there within ${withinMs / 1000} s`)), withinMs);
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
    stream.once('close', () => stream.complete || stop(new AppError('invalid_request', 'The body was cut off')));
  });
}

/** What JSON may say and our tables may not hold: odd keys, NUL, half surrogate pairs, endless nesting (S268). */
function oddities(value: unknown): FieldError[] {
  const found: FieldError[] = [];
  const stack: { value: unknown; path: string; depth: number }[] = [{ value, path: '', depth: 0 }];
  for (let next = stack.pop(); next; next = stack.pop()) {
    const { value: here, path, depth } = next;
    if (typeof here === 'string') {
      if (here.includes('\0') || !here.isWellFormed())
        found.push({ field: path, message: `${path || 'body'}: contains characters that cannot be stored`, rule: 'invalid_characters' });
    } else if (typeof here === 'object' && here !== null) {
      if (depth > DEPTH) return [{ field: path, message: `${path}: nested too deeply`, rule: 'too_deep' }];
      for (const key of Object.keys(here)) {
        const at = path ? `${path}.${key}` : key;
        if (FORBIDDEN_KEYS.has(key)) found.push({ field: at, message: `property ${key} should not exist`, rule: 'unknown' });
        else if (key.includes('\0') || !key.isWellFormed())
          found.push({ field: path, message: `${path || 'body'}: a key contains characters that cannot be stored`, rule: 'invalid_characters' });
        else stack.push({ value: (here as Record<string, unknown>)[key], path: at, depth: depth + 1 });
      }
    }
  }
  return found;
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** The parameters of a query or a form, in their order. */
export function readParameters(text: string): [name: string, value: string][] {
  const pairs = [...new URLSearchParams(text)];
  if (pairs.length > MOST_PARAMETERS) throw validationFailed([{ field: '', message: `at most ${MOST_PARAMETERS} parameters are taken`, rule: 'too_big' }]);
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
  if (twice !== undefined) throw validationFailed([{ field: twice, message: `${twice}: sent twice`, rule: 'repeated' }]);
  return Object.fromEntries(pairs);
}

/** Whether a request comes without a body; an absent one counts as `{}` whatever its type says (S8). */
export const isBodyless = ({ headers }: IncomingMessage): boolean => headers['transfer-encoding'] === undefined && (headers['content-length'] ?? '0') === '0';

/** The JSON body of a request, or with `form` an HTML form's. */
export async function readJson(stream: IncomingMessage, limit = LIMIT, withinMs = BODY_MS, form = false): Promise<JsonBody> {
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
  if (parameters.some((parameter) => parameter.startsWith('charset=') && !/^charset="?utf-?8"?$/.test(parameter))) throw unsupported('Send JSON as UTF-8');
  let value: unknown;
  try {
    value = isForm ? readForm(utf8.decode(bytes)) : JSON.parse(utf8.decode(bytes));
  } catch (cause) {
    if (cause instanceof AppError) throw cause;
    throw new AppError('invalid_json', 'The body is not valid JSON', {}, { cause });
  }
  const errors = oddities(value);
  if (errors.length > 0) throw validationFailed(errors);
  return { value, bytes };
}
