import { describe, expect, test } from '@jest/globals';
import { z } from 'zod';
import { auth, type AuthAdapter, type AuthLine, type Consent } from '../../../src/providers/auth/_contract.ts';
import { secret, text } from '../../../src/providers/kit/declare/fields.ts';
import {
  type Check,
  coverageCheck,
  manifestChecks,
  type ProviderFixture,
  type Suite,
  wireChecks,
} from '../../support/peers/suites/provider.ts';

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
          asks: {
            method: 'POST',
            url: 'https://api.demo.example/v1/people',
            headers: { 'x-demo-key': KEY },
            json: { code: 'c1' },
          },
          says: { json: { id: '7', name: 'Ann', extra: true } },
          creates: true,
        },
      ],
      result: { providerId: '7', name: 'Ann', email: null, avatarUrl: null },
    },
  ],
  refusals: [
    {
      name: 'a code that is over',
      operation: 'identify',
      says: { status: 422, json: { error: 'expired' } },
      failure: 'rejected',
    },
  ],
};
const suite: Suite<AuthAdapter, Consent> = {
  domain: 'auth',
  open: (providers, adapter, values) => providers.login(adapter, values) as Consent,
  operations: { identify: (login, input) => login.identify(input) },
};

/** The names of the checks that an adapter does not stand. */
async function wrongIn(adapter: AuthAdapter, facts = fixture): Promise<string[]> {
  const checks: Check[] = [
    ...manifestChecks(adapter),
    coverageCheck(adapter, facts),
    ...wireChecks(suite, adapter, facts),
  ];
  const wrong: string[] = [];
  for (const { name, run } of checks)
    await run().catch(() => {
      wrong.push(name);
    });
  return wrong;
}

test('a correct adapter passes every check', async () => {
  expect(await wrongIn(demo(honest))).toEqual([]);
});

describe('the suite detects an adapter that', () => {
  test.each<[string, AuthAdapter, RegExp]>([
    [
      'sends its key in another place',
      demo(honest, { auth: { in: 'query', name: 'key', field: 'key' } }),
      /exactly the documented requests/,
    ],
    [
      'calls another host',
      demo(honest, { api: 'https://api.demo.example.evil.example/v1' }),
      /exactly the documented requests/,
    ],
    [
      'sends more than is documented',
      demo(
        ({ http }) =>
          async ({ code }) =>
            accountOf(await http.post('/people', Me, { json: { code, debug: true }, creates: true })),
      ),
      /exactly the documented requests/,
    ],
    [
      'makes up an answer',
      demo(({ http }) => async ({ code }) => {
        const said = await http.post('/people', z.any(), { json: { code }, creates: true });
        return accountOf({ id: '7', name: 'Ann', ...said });
      }),
      /refuses an empty answer, half an answer and a page/,
    ],
    [
      'accepts a failure',
      demo((connection) => (returned) => honest(connection)(returned).catch(() => accountOf({ id: '7', name: 'Ann' }))),
      /a broken connection/,
    ],
    [
      'sends again after a lost answer',
      demo((connection) => (returned) => honest(connection)(returned).catch(() => honest(connection)(returned))),
      /a broken connection/,
    ],
    [
      'leaves out `creates`',
      demo(
        ({ http }) =>
          async ({ code }) =>
            accountOf(await http.post('/people', Me, { json: { code } })),
      ),
      /a broken connection/,
    ],
    [
      'maps a refusal to another failure',
      demo(honest, { errors: { 422: 'unavailable' } }),
      /a code that is over is rejected/,
    ],
    ['ignores Retry-After', demo(honest, { errors: { 429: 'rejected' } }), /reads Retry-After/],
    [
      'declares its key as plain text',
      demo(honest, { credentials: { key: text('Key') } }),
      /declares the secret fields of its facts as secret/,
    ],
    [
      'has an address without encryption',
      demo(honest, { api: 'http://api.demo.example/v1' }),
      /an address with encryption/,
    ],
    [
      'has a placeholder without a field',
      demo(honest, { api: 'https://{region}.demo.example/v1' }),
      /a field for every placeholder/,
    ],
    ['has an invalid id', demo(honest, { id: 'Demo Inc' }), /named by domain/],
    [
      'declares an operation without a fixture',
      { ...demo(honest), capabilities: ['identify', 'erase'] },
      /a fixture for every operation/,
    ],
  ])('%s', async (_, adapter, expected) => {
    expect(await wrongIn(adapter)).toContainEqual(expect.stringMatching(expected));
  });
});
