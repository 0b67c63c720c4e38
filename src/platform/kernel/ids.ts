import { randomFillSync } from 'node:crypto';
import { sha256Hex } from './crypto.ts';

const SIZE = 16;
/** Random bytes for many ids at a time: asking for them is what an id costs. Each is used once. */
const stock = Buffer.alloc(256 * SIZE);
let used = stock.length;

function freshBytes(): Buffer {
  if (used === stock.length) {
    randomFillSync(stock);
    used = 0;
  }
  used += SIZE;
  return stock.subarray(used - SIZE, used);
}

/** A UUID v7 (RFC 9562 5.7): sorts by time of making, so that inserts stay at the right edge of an index. */
export function newId(): string {
  const bytes = freshBytes();
  bytes.writeUIntBE(Date.now(), 0, 6);
  bytes[6] = (bytes[6]! & 0x0f) | 0x70;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  const hex = bytes.toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

/** An id that is the same for the same text. */
export function idFrom(text: string): string {
  const hex = sha256Hex(text);
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20, 32)].join('-');
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
/**
 * Tells whether a text can be the id of a row. Anything else is treated as an unknown id, never sent to the database.
 */
export const isId = (text: string): boolean => UUID.test(text);

/** The id of an actor below an organization. The tenant is in it, so a foreign id can address nothing. */
export const tenantKey = (orgId: string, id: string): string => `${orgId}:${id}`;

export function splitTenantKey(key: string): { orgId: string; id: string } {
  const at = key.indexOf(':');
  if (at < 1 || at === key.length - 1) throw new Error(`Not an actor id of an organization: ${key}`);
  return { orgId: key.slice(0, at), id: key.slice(at + 1) };
}
