import { describe, expect, test } from '@jest/globals';
import { z } from 'zod';
import { AppError, type FieldError } from './errors.ts';
import { isId, newId, splitTenantKey, tenantKey } from './ids.ts';
import { judge, parse } from './validation.ts';

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

describe('the message of each kind of fault', () => {
  const S = z.string();
  const table: readonly [kind: string, schema: z.ZodType, input: unknown, sentence: string, rule: string][] = [
    ['nothing', S, undefined, 'is required', 'required'],
    ['no string', S, 7, 'must be a string', 'invalid_type'],
    ['no number', z.number(), 'x', 'must be a number', 'invalid_type'],
    ['no end', z.number(), Infinity, 'must be a finite number', 'invalid_type'],
    ['a fraction', z.int(), 1.5, 'must be a whole number', 'invalid_type'],
    ['no boolean', z.boolean(), 'yes', 'must be true or false', 'invalid_type'],
    ['no list', z.array(S), {}, 'must be a list', 'invalid_type'],
    ['no object', z.strictObject({}), [], 'must be an object', 'invalid_type'],
    ['no record', z.record(S, S), 'x', 'must be an object', 'invalid_type'],
    ['no date', z.date(), 'x', 'must be a date', 'invalid_type'],
    ['an empty text', S.min(1), '', 'must not be empty', 'too_small'],
    ['a short text', S.min(8), 'abc', 'must have at least 8 characters', 'too_small'],
    ['a long text', S.max(3), 'abcd', 'must have at most 3 characters', 'too_big'],
    ['a text of another length', S.length(1), 'ab', 'must have exactly 1 character', 'too_big'],
    ['an empty list', z.array(S).min(1), [], 'must not be empty', 'too_small'],
    ['a long list', z.array(S).max(1), ['a', 'b'], 'must have at most 1 entry', 'too_big'],
    ['a small number', z.int().min(1), 0, 'must be at least 1', 'too_small'],
    ['a large number', z.number().max(5), 6, 'must be at most 5', 'too_big'],
    ['a number at its bound', z.number().gt(0), 0, 'must be more than 0', 'too_small'],
    ['a number at its end', z.number().lt(9), 9, 'must be less than 9', 'too_big'],
    [
      'an early date',
      z.date().min(new Date(0)),
      new Date(-1),
      'must be no earlier than 1970-01-01T00:00:00.000Z',
      'too_small',
    ],
    ['no multiple', z.number().multipleOf(5), 7, 'must be a multiple of 5', 'not_multiple_of'],
    ['another value', z.enum(['a', 'b']), 'c', 'must be one of a, b', 'invalid_value'],
    ['another literal', z.literal(true), false, 'must be true', 'invalid_value'],
    ['no value', z.enum(['a', 'b']), undefined, 'is required', 'required'],
    ['no address', z.email(), 'x', 'must be an email address, like name@example.com', 'invalid_format'],
    ['no UUID', z.uuid(), 'x', 'must be a UUID', 'invalid_format'],
    ['another beginning', S.startsWith('pm_'), 'x', 'must begin with pm_', 'invalid_format'],
    ['another form', S.regex(/^a$/), 'b', 'does not have the form that it must have', 'invalid_format'],
    ['another form, with its own words', S.regex(/^a$/, 'must be a'), 'b', 'must be a', 'invalid_format'],
    ['own words', S.refine(() => false, 'is taken'), 'b', 'is taken', 'custom'],
    ['no words', S.refine(() => false), 'b', 'is not valid', 'custom'],
    ['none of two types', z.union([S, z.number()]), true, 'must be a string or a number', 'invalid_union'],
    [
      'none of the names',
      z.discriminatedUnion('k', [z.object({ k: z.literal('a') }), z.object({ k: z.literal('b') })]),
      { k: 'c' },
      'must be one of a, b',
      'invalid_union',
    ],
    ['a key that is none', z.record(z.uuid(), S), { x: 'y' }, 'has a key that is not taken here', 'invalid_key'],
    [
      'an entry that is none',
      z.map(z.object({}), S),
      new Map([[{}, 1]]),
      'has an entry that is not taken here',
      'invalid_element',
    ],
  ];
  test.each(table)('%s', (_, schema, input, sentence, rule) => {
    const [error] = judge(z.object({ field: schema }), { field: input }).errors ?? [];
    const at = error!.field;
    expect({ ...error }).toEqual({
      field: expect.stringMatching(/^field(\.[kx])?$/),
      message: `${at}: ${sentence}`,
      rule,
    });
  });
  test('a long list of values ends with an ellipsis', () => {
    const many = z.enum(Array.from({ length: 500 }, (_, n) => `value-${n}`) as [string, ...string[]]);
    const { message } = judge(z.object({ of: many }), { of: 'x' }).errors![0]!;
    expect(message).toMatch(/^of: must be one of value-0, value-1, .*, …$/);
    expect(message.length).toBeLessThan(250);
  });
  test('a fault in a union is reported for the option of the type of the value', () => {
    const schema = z.object({ of: z.union([z.string(), z.object({ a: z.string(), b: z.string() })]) });
    expect(judge(schema, { of: {} }).errors).toEqual([
      { field: 'of.a', message: 'of.a: is required', rule: 'required' },
      { field: 'of.b', message: 'of.b: is required', rule: 'required' },
    ]);
  });
  test('the path of the input itself comes first', () =>
    expect(judge(z.object({ a: z.string() }), {}, ['posts', 0]).errors).toEqual([
      { field: 'posts.0.a', message: 'posts.0.a: is required', rule: 'required' },
    ]));
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

test('the message of a refusal is short for any input', () => {
  const bird = '\u{1f426}';
  const error = refusal(
    Object.fromEntries([['posts', []], ...Array.from({ length: 500 }, (_, n) => [`${n}${bird.repeat(5_000)}`, n])]),
  );
  const errors = error.extra['errors'] as FieldError[];
  expect(errors.length).toBeGreaterThan(10);
  expect(Buffer.byteLength(JSON.stringify(error))).toBeLessThan(60_000);
  for (const { field, message } of errors) {
    expect([field.length <= 200, message.length <= 300]).toEqual([true, true]);
    expect(field.isWellFormed() && message.isWellFormed()).toBe(true);
  }
  expect(new AppError('not_found', bird.repeat(5_000)).message.length).toBeLessThanOrEqual(1_000);
  expect(
    (refusal({ name: '', posts: Array.from({ length: 5_000 }, () => 0) }).extra['errors'] as unknown[]).length,
  ).toBe(100);
  expect(
    AppError.fromJSON(JSON.parse(JSON.stringify(error)) as { code: 'unknown_field'; message: string }).extra,
  ).toEqual(error.extra);
});

test('a business error survives JSON', () => {
  const error = new AppError('limit_exceeded', 'Plan limit reached: channel (3)', { limit: 'channel', max: 3 });
  const back = AppError.fromJSON(JSON.parse(JSON.stringify(error)) as { code: 'limit_exceeded'; message: string });
  expect(back).toMatchObject({ code: 'limit_exceeded', status: 402, message: error.message, extra: error.extra });
});

test('ids sort by creation time and are told from other text', async () => {
  const early = newId();
  await new Promise((wait) => setTimeout(wait, 3));
  const late = newId();
  expect(early < late).toBe(true);
  expect([isId(early), isId('post'), isId(`${early} `)]).toEqual([true, false, false]);
  expect(splitTenantKey(tenantKey(early, late))).toEqual({ orgId: early, id: late });
  expect(() => splitTenantKey('nothing')).toThrow('Not an actor id');
});
