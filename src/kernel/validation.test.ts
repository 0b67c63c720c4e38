import { expect, test } from '@jest/globals';
import { z } from 'zod';
import { AppError, type FieldError } from './errors.ts';
import { isId, newId, splitTenantKey, tenantKey } from './ids.ts';
import { parse } from './validation.ts';

const Body = z.strictObject({ name: z.string().min(1), posts: z.array(z.strictObject({ date: z.iso.datetime() })) });
const refusal = (input: unknown) => {
  try {
    parse(Body, input);
  } catch (error) {
    return error as AppError;
  }
  throw new Error('not refused');
};

test('every fault is reported with its field and rule, and the first is the message [S6]', () => {
  const error = refusal({ name: '', posts: [{ date: 'tomorrow' }, {}] });
  expect(error).toMatchObject({ code: 'validation_failed', status: 400 });
  expect(error.extra['errors']).toEqual([
    { field: 'name', message: expect.stringContaining('name'), rule: 'too_small' },
    { field: 'posts.0.date', message: expect.any(String), rule: 'invalid_format' },
    { field: 'posts.1.date', message: expect.any(String), rule: 'required' },
  ]);
  expect(error.message).toBe((error.extra['errors'] as { message: string }[])[0]!.message);
});

test('unknown fields are named one by one [S7]', () => {
  const error = refusal({ name: 'a', posts: [], colour: 1, size: 2 });
  expect(error).toMatchObject({ code: 'unknown_field' });
  expect(error.extra['errors']).toEqual([
    { field: 'colour', message: 'property colour should not exist', rule: 'unknown' },
    { field: 'size', message: 'property size should not exist', rule: 'unknown' },
  ]);
});

test('an unknown field comes first among several faults and gives the code [S7]', () => {
  const error = refusal({ name: '', posts: [], colour: 1 });
  expect(error).toMatchObject({ code: 'unknown_field', message: 'property colour should not exist' });
  expect((error.extra['errors'] as { field: string }[]).map(({ field }) => field)).toEqual(['colour', 'name']);
});

test('a refusal has few and short words, whatever was refused', () => {
  const bird = '\u{1f426}';
  const error = refusal(Object.fromEntries([['posts', []], ...Array.from({ length: 500 }, (_, n) => [`${n}${bird.repeat(5_000)}`, n])]));
  const errors = error.extra['errors'] as FieldError[];
  expect(errors.length).toBeGreaterThan(10);
  expect(Buffer.byteLength(JSON.stringify(error))).toBeLessThan(60_000);
  for (const { field, message } of errors) {
    expect([field.length <= 200, message.length <= 300]).toEqual([true, true]);
    expect(field.isWellFormed() && message.isWellFormed()).toBe(true);
  }
  expect(new AppError('not_found', bird.repeat(5_000)).message.length).toBeLessThanOrEqual(1_000);
  expect((refusal({ name: '', posts: Array.from({ length: 5_000 }, () => 0) }).extra['errors'] as unknown[]).length).toBe(100);
  expect(AppError.fromJSON(JSON.parse(JSON.stringify(error)) as { code: 'unknown_field'; message: string }).extra).toEqual(error.extra);
});

test('a business error survives the way over JSON', () => {
  const error = new AppError('limit_exceeded', 'Plan limit reached: channel (3)', { limit: 'channel', max: 3 });
  const back = AppError.fromJSON(JSON.parse(JSON.stringify(error)) as { code: 'limit_exceeded'; message: string });
  expect(back).toMatchObject({ code: 'limit_exceeded', status: 402, message: error.message, extra: error.extra });
});

test('ids sort by the time of their making and are told from other text', async () => {
  const early = newId();
  await new Promise((wait) => setTimeout(wait, 3));
  const late = newId();
  expect(early < late).toBe(true);
  expect([isId(early), isId('post'), isId(`${early} `)]).toEqual([true, false, false]);
  expect(splitTenantKey(tenantKey(early, late))).toEqual({ orgId: early, id: late });
  expect(() => splitTenantKey('nothing')).toThrow('Not an actor id');
});
