import { readFile } from 'node:fs/promises';
import { InvalidArgumentError } from 'commander';
import { UsageError } from './exit.ts';
import type { Session } from './session.ts';

/** An option that counts. */
export function countOf(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError('It must be a whole number.');
  return Number(text);
}
/** An option that may be given several times. */
export const each = (text: string, before: readonly string[] = []): string[] => [...before, text];

/** The option of a command that creates, and the parameters that it gives to the request. */
export const IDEMPOTENCY_KEY = [
  '--idempotency-key <key>',
  'typed again with this key, nothing is created twice',
] as const;
export const keyed = (key: string | undefined) => ({ header: key === undefined ? {} : { 'Idempotency-Key': key } });

/** An option that is a JSON object. */
export function objectOf(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch {
    // told below
  }
  throw new InvalidArgumentError('It must be a JSON object.');
}

const DATE = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?))?\s*(Z|[+-]\d\d:?\d\d)?$/i;

/** A date as the service reads it: one without an offset is UTC, and a day that no calendar has is none. */
export function dateOf(text: string): string {
  const [, day = '', time = '00:00', zone = 'Z'] = DATE.exec(text.trim()) ?? [];
  const [midnight, date] = [new Date(`${day}T00:00Z`), new Date(`${day}T${time}${zone.toUpperCase()}`)];
  // a day behind the end of its month would be one of the next
  if (Number.isNaN(date.getTime()) || !midnight.toISOString().startsWith(day))
    throw new InvalidArgumentError('It must be a date such as 2026-09-01T10:00:00Z.');
  return date.toISOString();
}

/** The text of a file, or of the standard input for `-`. */
export const readText = async (session: Session, file: string) => (await readBytes(session, file)).toString('utf8');
/** Its bytes as they are. */
export async function readBytes(session: Session, file: string): Promise<Buffer> {
  if (file === '-') return session.readStdin();
  return readFile(file).catch((error: NodeJS.ErrnoException) => {
    throw new UsageError(`${file} cannot be read (${error.code})`);
  });
}
export async function readObject(session: Session, file: string): Promise<Record<string, unknown>> {
  try {
    return objectOf(await readText(session, file));
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(`${file === '-' ? 'The standard input' : file} is no JSON object`);
  }
}
