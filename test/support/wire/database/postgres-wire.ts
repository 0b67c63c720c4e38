import postgres from 'postgres';
import { ARRAY_TYPES } from '../../../../src/platform/db/arrays.ts';
import type { Database } from '../../../../src/platform/db/index.ts';

// The protocol of Postgres, for tests that stand between the driver and the server.

export const SYNC = 83; // S
export const QUERY = 81; // Q
export const PARSE = 80; // P
export const BIND = 66; // B
export const DESCRIBE = 68; // D
export const FLUSH = 72; // H
export const READY = 90; // Z

/** Whole messages of the protocol, each with its type; the bytes of a message that is not whole are left. */
export function* messagesOf(bytes: Buffer): Generator<{ type: number; whole: Buffer; end: number }> {
  for (let at = 0; at + 5 <= bytes.length;) {
    const end = at + 1 + bytes.readInt32BE(at + 1);
    if (end > bytes.length) return;
    yield { type: bytes[at]!, whole: bytes.subarray(at, end), end };
    at = end;
  }
}
/** A text that ends with a zero. */
export const textAt = (bytes: Buffer, from: number): string => bytes.toString('utf8', from, bytes.indexOf(0, from));
/** A statement in one line. */
const lineOf = (sql: string): string =>
  sql
    .replace(/\/\*.*?\*\//gs, '')
    .replace(/\s+/g, ' ')
    .trim();

/** Reads what the driver writes on one connection: whole messages, each with the statement that it is about. */
export function openStatements() {
  const prepared = new Map<string, string>();
  return function* (written: Buffer): Generator<{ type: number; text: string | undefined }> {
    for (const { type, whole } of messagesOf(written)) {
      let text: string | undefined;
      if (type === PARSE) {
        const name = textAt(whole, 5);
        text = lineOf(textAt(whole, 6 + Buffer.byteLength(name)));
        prepared.set(name, text);
      } else if (type === BIND) text = prepared.get(textAt(whole, 6 + Buffer.byteLength(textAt(whole, 5))));
      else if (type === QUERY) text = lineOf(textAt(whole, 5));
      yield { type, text };
    }
  };
}

/** A pool as the product opens its own, but for what `options` of the driver say. */
export const openPool = (url: string, name: string, options: object): Database =>
  postgres(url, {
    onnotice: () => {},
    fetch_types: false,
    types: ARRAY_TYPES,
    connection: { application_name: name, timezone: 'UTC' },
    debug: () => {}, // else the driver keeps the first caller of each statement, with all of its product, for ever
    ...options,
  } as unknown as postgres.Options<{}>) as Database;
