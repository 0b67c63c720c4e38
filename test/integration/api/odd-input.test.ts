import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { AnyRoute } from '../../../api/http/route.ts';
import { possibleId } from '../../../api/http/validate.ts';
import { routes } from '../../../api/resources/routes.gen.ts';
import { judge, newId } from '../../../src/platform/kernel/index.ts';
import type { Client, SignedUp } from '../../support/worlds/app.ts';
import { example, inputSchema } from '../../support/worlds/example.ts';
import { type Product, wholeProduct } from '../../support/worlds/product.ts';

// Generated from the declarations, over the whole product: odd texts in every field, query and path must be taken or
// refused, never break anything. A text that a schema refuses is judged here, by what the ladder asks, and so gets no
// further: of those of a field one is sent, and each that the schema takes.

const ODD = [
  '',
  ' ',
  '\u0000',
  '\u0001\u001b[31m',
  '\r\nSet-Cookie: a=b',
  '\ud800',
  '\ufeff',
  '\u202e\u2066',
  'e\u0301\u0301\u0301',
  '👩‍👩‍👧‍👦',
  '𝒻𝓊𝓃',
  'İ',
  'ﷺ'.repeat(50),
  "' or 1=1; drop table users --",
  '%s%n%x',
  '%00',
  '%ff',
  '{{7*7}}',
  '${7*7}',
  '<script>alert(1)</script>',
  '../../../etc/passwd',
  'C:\\nul',
  'file:///etc/passwd',
  'http://[::1]:0/',
  'javascript:alert(1)',
  'null',
  'undefined',
  'NaN',
  '-1',
  '9'.repeat(400),
  '1e999',
  '0x7f',
  '__proto__',
  'constructor',
  '[object Object]',
  '[]',
  '{}',
  '(((((((((((((((((((((((((a+)+)+)+)+)+)+',
  'a'.repeat(70_000),
  'pm_live_' + 'A'.repeat(43),
  '2026-13-45T99:99:99Z',
  '0000-00-00',
  '+275760-09-13T00:00:00.001Z',
  '00000000-0000-0000-0000-000000000000',
];

let product: Product;
let ann: SignedUp;
let key: Client;
beforeAll(async () => {
  product = await wholeProduct({ level: 'error', env: { ORGANIZATIONS_PER_OWNER: '1000' } });
  ann = await product.signUp();
  key = await ann.withKey();
}, 60_000);
afterAll(() => product[Symbol.asyncDispose]());

const asker = (route: AnyRoute): Client =>
  route.auth.includes('none') || route.auth.includes('session') || route.auth.includes('super-admin')
    ? ann.client
    : key;
const pathOf = ({ path }: AnyRoute, given: Record<string, string> = {}) =>
  path.replace(
    /:(\w+)/g,
    (_, name: string) => given[name] ?? (name === 'id' || name.endsWith('Id') ? newId() : 'sandbox'),
  );
const ends = /\/(logout|revoke-all)$/; // would end the session that asks; they take no input
const some = routes.filter(
  ({ path, input }) =>
    !ends.test(path) && input !== 'stream' && !path.startsWith('/auth/') && !path.startsWith('/health'),
);
const named = (list: readonly AnyRoute[]): [string, AnyRoute][] =>
  list.map((route) => [`${route.method.toUpperCase()} ${route.path}`, route]);

/** The first text of each meaning; texts of the meaning `undefined` mean themselves. */
function distinct(texts: readonly string[], meaning: (text: string) => string | undefined): string[] {
  const seen = new Set<string>();
  return texts.filter((text) => {
    const found = meaning(text);
    return found === undefined || seen.size < seen.add(found).size;
  });
}
const judgedBy = (schema: AnyRoute['query'], inputOf: (text: string) => unknown) => (text: string) =>
  schema && judge(schema, inputOf(text)).errors ? 'refused' : undefined;
/** What reaches the handler of a parameter of the path. On MCP surfaces it is a credential, read before. */
const inPath = (route: AnyRoute, name: string) => (text: string) => {
  if (route.surface) return undefined;
  if (!route.params) return name === 'id' || name.endsWith('Id') ? possibleId(text) : undefined;
  const given = Object.fromEntries([...route.path.matchAll(/:(\w+)/g)].map(([, other]) => [other, newId()]));
  return route.params.safeParse({ ...given, [name]: text }).success ? undefined : 'refused';
};

async function survives(asks: (() => Promise<{ status: number }>)[]): Promise<void> {
  const broken: number[] = [];
  for (let n = 0; n < asks.length; n += 8) {
    const answers = await Promise.all(asks.slice(n, n + 8).map((ask) => ask()));
    answers.forEach(({ status }, at) => status >= 500 && status !== 502 && broken.push(n + at));
  }
  expect(broken).toEqual([]);
}

describe('odd texts', () => {
  test.each(named(some.filter(({ body }) => body !== undefined)))(
    '%s answers without a 500 for each text in each field of its body',
    async (_, route) => {
      const schema = inputSchema(route.body as never);
      const valid = example(schema) as object;
      const fields = Object.entries((schema['properties'] ?? {}) as Record<string, object>).filter(
        ([, property]) => JSON.stringify(property).includes('"string"') || Object.keys(property).length === 0,
      );
      await survives(
        fields.flatMap(([field]) =>
          distinct(
            ODD,
            judgedBy(route.body, (text) => ({ ...valid, [field]: text })),
          ).map(
            (text) => () => asker(route).send(route.method.toUpperCase(), pathOf(route), { ...valid, [field]: text }),
          ),
        ),
      );
    },
    120_000,
  );
  test.each(named(some.filter(({ query }) => query !== undefined)))(
    '%s answers without a 500 for each text in its query',
    async (_, route) => {
      const fields = Object.keys(inputSchema(route.query as never)['properties'] ?? {});
      await survives(
        fields.flatMap((field) =>
          distinct(
            ODD.filter((text) => text.length < 5_000),
            judgedBy(route.query, (text) => ({ [field]: text.toWellFormed() })),
          ).map(
            (text) => () =>
              asker(route).send(
                route.method.toUpperCase(),
                `${pathOf(route)}?${field}=${encodeURIComponent(text.toWellFormed())}`,
              ),
          ),
        ),
      );
    },
  );
  test.each(named(some.filter(({ path }) => path.includes(':'))))(
    '%s answers without a 500 for each text in its path',
    async (_, route) => {
      const names = [...route.path.matchAll(/:(\w+)/g)].map(([, name]) => name!);
      const body = route.method === 'get' ? undefined : route.body ? example(inputSchema(route.body as never)) : {};
      const texts = ODD.filter((text) => text.length < 5_000 && text !== '').map((text) => text.toWellFormed());
      await survives(
        names.flatMap((name) =>
          distinct(texts, inPath(route, name)).map(
            (text) => () =>
              asker(route).send(route.method.toUpperCase(), pathOf(route, { [name]: encodeURIComponent(text) }), body),
          ),
        ),
      );
    },
  );
  test('names are stored in one form of Unicode, and other texts as sent [S268]', async () => {
    for (const text of ['e\u0301t\u00e9 ', '👩‍👩‍👧‍👦 x', '<b>x</b>', "' or 1=1 --"]) {
      const { status, body } = await ann.client.post('/orgs', { name: text });
      expect([status, body.name]).toEqual([201, text.trim().normalize('NFC')]);
    }
  });
  test.each([
    'auth',
    'authorization',
    'showorg',
    'x-csrf-token',
    'x-request-id',
    'idempotency-key',
    'x-forwarded-for',
    'origin',
    'user-agent',
    'cookie',
    'content-type',
    'accept',
    'if-none-match',
    'if-match',
    'range',
  ])('the header %s with odd texts causes no 500', async (name) => {
    const texts = ODD.filter((text) => /^[\x20-\x7e]*$/.test(text) && text.length < 5_000);
    await survives(
      texts.flatMap((text) =>
        ['/user/self', '/public/v1/is-connected', '/public/v1/integrations'].map(
          (path) => () => key.get(path, { [name]: text }),
        ),
      ),
    );
    await survives(texts.map((text) => () => ann.client.post('/user/change-org', { id: newId() }, { [name]: text })));
  });
  test('odd texts leave nothing on the prototypes', () => {
    expect(Object.keys(Object.prototype)).toEqual([]);
    expect(Object.keys(Array.prototype)).toEqual([]);
  });
});
