import { describe, expect, test } from '@jest/globals';
import { z } from 'zod';
import { auth, type AuthAdapter, type AuthLine, type Consent } from '../../../src/providers/auth/_contract.ts';
import { secret, text } from '../../../src/providers/kit/declare/fields.ts';
import { type Check, coverageCheck, manifestChecks, type ProviderFixture, type Suite, wireChecks } from '../../support/peers/provider-suite.ts';

// The suite that judges adapters is judged here: it takes an honest one, and finds what is wrong with each that is not.

const Me = z.object({ id: z.string(), name: z.string() });
const accountOf = ({ id, name }: z.output<typeof Me>) => ({ providerId: id, name, email: null, avatarUrl: null });
const KEY = 'k-0123456789 of+demo';

type Identify = (connection: AuthLine) => Consent['identify'];
const honest: Identify =
  ({ http }) =>
  async ({ code }) =>
    accountOf(await http.post('/people', Me, { json: { code }, creates: true }));

const demo = (identify: Identify, more: Partial<Parameters<typeof auth>[0]> = {}): AuthAdapter => ({
  ...auth({
    id: 'demo',
    version: 'v1',
    title: 'Demo',
    description: 'A provider of this test.',
    authType: 'api_key',
    credentials: { key: secret('Key') },
    api: 'https://api.demo.example/v1',
    auth: { in: 'header', name: 'x-demo-key', prefix: '', field: 'key' },
    by: 'consent',
    connect: (connection) => ({ by: 'consent', authorize: async () => '', identify: identify(connection) }),
    ...more,
  }),
  capabilities: ['identify'],
});

const fixture: ProviderFixture = {
  values: { key: KEY },
  secret: ['key'],
  cases: [
    {
      operation: 'identify',
      input: { code: 'c1' },
      exchanges: [
        {
          asks: { method: 'POST', url: 'https://api.demo.example/v1/people', headers: { 'x-demo-key': KEY }, json: { code: 'c1' } },
          says: { json: { id: '7', name: 'Ann', extra: true } },
          creates: true,
        },
      ],
      result: { providerId: '7', name: 'Ann', email: null, avatarUrl: null },
    },
  ],
  refusals: [{ name: 'a code that is over', operation: 'identify', says: { status: 422, json: { error: 'expired' } }, failure: 'rejected' }],
};
const suite: Suite<AuthAdapter, Consent> = {
  domain: 'auth',
  open: (providers, adapter, values) => providers.login(adapter, values) as Consent,
  operations: { identify: (login, input) => login.identify(input) },
};

/** The names of the checks that an adapter does not stand. */
async function wrongIn(adapter: AuthAdapter, facts = fixture): Promise<string[]> {
  const checks: Check[] = [...manifestChecks(adapter), coverageCheck(adapter, facts), ...wireChecks(suite, adapter, facts)];
  const wrong: string[] = [];
  for (const { name, run } of checks)
    await run().catch(() => {
      wrong.push(name);
    });
  return wrong;
}

test('an honest adapter stands every check', async () => {
  expect(await wrongIn(demo(honest))).toEqual([]);
});

describe('the suite finds the adapter that', () => {
  test.each<[string, AuthAdapter, RegExp]>([
    ['puts its key where the facts do not', demo(honest, { auth: { in: 'query', name: 'key', field: 'key' } }), /exactly what the facts say/],
    ['calls another host', demo(honest, { api: 'https://api.demo.example.evil.example/v1' }), /exactly what the facts say/],
    [
      'sends more than is documented',
      demo(
        ({ http }) =>
          async ({ code }) =>
            accountOf(await http.post('/people', Me, { json: { code, debug: true }, creates: true })),
      ),
      /exactly what the facts say/,
    ],
    [
      'invents an answer',
      demo(({ http }) => async ({ code }) => {
        const said = await http.post('/people', z.any(), { json: { code }, creates: true });
        return accountOf({ id: '7', name: 'Ann', ...said });
      }),
      /does not take nothing, half an answer or a page/,
    ],
    [
      'takes a failure for a success',
      demo((connection) => (returned) => honest(connection)(returned).catch(() => accountOf({ id: '7', name: 'Ann' }))),
      /a line that breaks/,
    ],
    [
      'makes a second one when the answer was lost',
      demo((connection) => (returned) => honest(connection)(returned).catch(() => honest(connection)(returned))),
      /a line that breaks/,
    ],
    [
      'says that what it made does not count',
      demo(
        ({ http }) =>
          async ({ code }) =>
            accountOf(await http.post('/people', Me, { json: { code } })),
      ),
      /a line that breaks/,
    ],
    ['gives a refusal another word', demo(honest, { errors: { 422: 'unavailable' } }), /a code that is over is rejected/],
    ['does not wait as it is told', demo(honest, { errors: { 429: 'rejected' } }), /waits as long as it is told/],
    ['shows its key to everybody', demo(honest, { credentials: { key: text('Key') } }), /keeps secret what the facts call so/],
    ['goes without encryption', demo(honest, { api: 'http://api.demo.example/v1' }), /goes nowhere without encryption/],
    ['names no field for a placeholder', demo(honest, { api: 'https://{region}.demo.example/v1' }), /a field for every placeholder/],
    ['has an id that no row could keep', demo(honest, { id: 'Demo Inc' }), /named by domain/],
    ['declares more than its facts show', { ...demo(honest), capabilities: ['identify', 'erase'] }, /shows every operation/],
  ])('%s', async (_, adapter, expected) => {
    expect(await wrongIn(adapter)).toContainEqual(expect.stringMatching(expected));
  });
});
