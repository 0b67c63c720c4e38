import { invalidField } from '../kernel/index.ts';

export interface Address {
  type: string;
  id: string;
}
/**
 * `owner` (the org): reminders due at one instant are dealt round robin over owners. `data` is JSON, small, a hint
 * only.
 */
export interface Reminder extends Address {
  name: string;
  due: Date;
  owner?: string;
  data?: unknown;
}

/** Bytes of UTF-8; three of them must fit into one entry of an index. */
const MAX_BYTES = 800;

function check(field: string, text: string): void {
  if (text === '') throw invalidField(field, 'must not be empty', 'required');
  if (!text.isWellFormed()) throw invalidField(field, 'holds half a character', 'invalid');
  if (text.length * 3 > MAX_BYTES && Buffer.byteLength(text) > MAX_BYTES)
    throw invalidField(field, `is longer than ${MAX_BYTES} bytes`, 'too_big');
}

/** Refuses what cannot be an address on any engine: empty, not UTF-8, too long. Any other character is allowed. */
export function checkAddress({ type, id }: Address): void {
  check('type', type);
  check('id', id);
}

/** As `checkAddress`, for a reminder. */
export function checkReminder(to: Address, name: string): void {
  checkAddress(to);
  check('name', name);
}

/** Unambiguous for any two addresses. */
export const addressKey = (type: string, id: string): string => `${type.length}:${type}${id}`;
export const reminderKey = (type: string, id: string, name: string): string =>
  `${type.length}:${id.length}:${type}${id}${name}`;
