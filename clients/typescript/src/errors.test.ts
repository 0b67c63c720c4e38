import { expect, test } from '@jest/globals';
import { refusalOf } from './errors.ts';

const at = (seconds: number) => new Date(Date.UTC(2030, 0, 1, 0, 0, seconds)).toUTCString();
/** The wait that a proxy in front of the service asks for, with the date of its answer. */
const waitOf = async (retryAfter: string, date?: string) => {
  const headers = { 'retry-after': retryAfter, ...(date !== undefined && { date }) };
  return (await refusalOf(new Response('Down for a moment', { status: 503, headers }))).retryAfterSeconds;
};

test('a date in Retry-After counts from the date of the answer, whatever the time is here', async () => {
  expect(await waitOf(at(9), at(2))).toBe(7);
  expect(await waitOf(at(1), at(9))).toBe(0);
  expect(await waitOf('7', at(9))).toBe(7);
});

test('a Retry-After that says no time is none', async () => {
  expect(await waitOf('soon', at(9))).toBeUndefined();
  expect(await waitOf(at(9))).toBeUndefined();
});
