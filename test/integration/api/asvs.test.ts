import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { get, request } from 'node:http';
import type { AnyRoute } from '../../../api/http/route.ts';
import { routes } from '../../../api/resources/routes.gen.ts';
import { newId } from '../../../src/platform/kernel/index.ts';
import { type Client, type SignedUp, testApp } from '../../support/worlds/app.ts';
import { inputSchema } from '../../support/worlds/example.ts';
import { type Product, wholeProduct } from '../../support/worlds/product.ts';

// What a link on a foreign page can make a browser do, over every route that there is.

let app: Product;
let ann: SignedUp;
let key: Client;
beforeAll(async () => {
  app = await wholeProduct({ env: { EGRESS_ECHO_URL: 'http://127.0.0.1:9/' } });
  ann = await app.signUp(); // the first: a super-admin, whom everything lets in
  key = await ann.withKey();
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
});

const gets = routes.filter(({ method }) => method === 'get');
const pathOf = ({ path }: AnyRoute) =>
  path.replace(/:(\w+)/g, (_, name: string) => (name === 'id' || name.endsWith('Id') ? newId() : 'something'));
const parametersOf = ({ query }: AnyRoute): string[] =>
  query ? Object.keys(inputSchema(query as never)['properties'] ?? {}) : [];
const asker = (route: AnyRoute) =>
  route.auth.includes('session') || route.auth.includes('super-admin') || route.auth.includes('none')
    ? ann.client
    : key;
const address = (route: AnyRoute, pairs: [string, string][]) =>
  `${pathOf(route)}?${new URLSearchParams(pairs).toString()}`;

/**
 * What processes note for themselves while nobody asks: who does what, that they live, when sweeps last ran and how the
 * providers answered those.
 */
const OWN = new Set(['leases', 'outbox_cursors', 'actor_hosts', 'cron_runs', 'provider_health']);

/** The rows of every table but for notes of use, as one text each. */
async function rows(): Promise<Record<string, string>> {
  const { sql } = app.db;
  const tables = await sql<
    { name: string }[]
  >`select tablename as name from pg_tables where schemaname = 'public' order by 1`;
  const own = tables
    .filter(({ name }) => !OWN.has(name))
    .map(({ name }) => sql`select ${name}::text as name, to_jsonb(t) as row from ${sql(name)} t`);
  const found = await sql<
    { name: string; row: Record<string, unknown> }[]
  >`${own.reduce((all, one) => sql`${all} union all ${one}`)}`;
  const kept = ({ name, row }: (typeof found)[number]) =>
    JSON.stringify(
      Object.entries(row).filter(
        ([column]) =>
          !/^(last_.*|ip|agent|user_agent|used_at|updated_at)$/.test(column) &&
          !(name === 'sessions' && column === 'expires_at'),
      ),
    );
  const texts = Object.groupBy(found, ({ name }) => name);
  // That the log was read is the one thing that reading leaves behind.
  texts['audit_log'] = (texts['audit_log'] ?? []).filter(({ row }) => !String(row['action']).startsWith('audit_log.'));
  return Object.fromEntries(tables.map(({ name }) => [name, (texts[name] ?? []).map(kept).toSorted().join('\n')]));
}

test('a safe method changes nothing [X17]', async () => {
  expect(gets.length).toBeGreaterThan(60);
  const changed: Record<string, string[]> = {};
  let before = await rows();
  for (const route of gets) {
    for (const method of ['GET', 'HEAD']) await asker(route).send(method, pathOf(route));
    const after = await rows();
    const tables = Object.keys(after).filter((name) => after[name] !== before[name]);
    if (tables.length > 0) changed[route.path] = tables;
    before = after;
  }
  expect(changed).toEqual({});
}, 240_000);

test('no route redirects a browser to an address from the link of a stranger [X18]', async () => {
  const names = [
    'next',
    'url',
    'redirect',
    'redirect_uri',
    'redirectUri',
    'return',
    'returnUrl',
    'return_to',
    'continue',
    'state',
    'code',
    'to',
  ];
  let asked = 0;
  for (const route of gets) {
    const answers = [
      'https://evil.example/',
      '//evil.example/',
      '\\\\evil.example',
      'javascript:alert(1)',
      'https:evil.example',
    ].map((evil) => {
      const pairs = [...new Set([...names, ...parametersOf(route)])].map((name): [string, string] => [name, evil]);
      return asker(route).get(address(route, pairs));
    });
    for (const { headers } of await Promise.all(answers)) {
      asked += 1;
      const to = headers.get('location');
      if (to === null) continue;
      const { origin, protocol } = new URL(to, app.address);
      expect([route.path, protocol === 'javascript:' || origin.includes('evil')]).toEqual([route.path, false]);
    }
  }
  expect(asked).toBeGreaterThan(300);
}, 240_000);

test('a repeated or listed parameter is one value or a clear refusal [S7]', async () => {
  const odd: string[] = [];
  let asked = 0;
  for (const route of gets)
    for (const name of parametersOf(route)) {
      const forms = [
        `${name}=1&${name}=2`,
        `${name}[]=1`,
        `${name}[a]=1`,
        `${name}=1;${name}=2`,
        `__proto__[${name}]=1`,
      ];
      const answers = await Promise.all(forms.map((form) => asker(route).get(`${pathOf(route)}?${form}`)));
      asked += answers.length;
      for (const [n, { status }] of answers.entries())
        // 502: the source of stock media is not there
        if (status >= 500 && status !== 502) odd.push(`${route.path}?${forms[n]}: ${status}`);
    }
  expect(asked).toBeGreaterThan(200);
  expect(odd).toEqual([]);
  // of a repeated key the last counts
  expect((await ann.client.get('/user/sessions?page=x&page=1')).status).toBeLessThan(400);
}, 240_000);

test.each(['TRACE', 'TRACK', 'CONNECT', 'DEBUG', 'PROPFIND'])(
  'TRACE and similar methods do not echo the request: %s [S4]',
  async (method) => {
    const { port } = new URL(app.address);
    const answer = await new Promise<{ status: number; text: string }>((resolve, reject) => {
      const sent = request(
        { host: '127.0.0.1', port, path: '/user/self', method, headers: { cookie: 'auth=a-secret-of-the-browser' } },
        (response) => {
          let text = '';
          response.setEncoding('utf8').on('data', (part: string) => (text += part));
          response.on('end', () => resolve({ status: response.statusCode ?? 0, text }));
        },
      );
      sent.on('connect', (response, socket) => {
        socket.destroy();
        resolve({ status: response.statusCode ?? 0, text: '' });
      });
      sent.on('error', (error) =>
        /hang up|ECONNRESET|Parse/.test(String(error)) ? resolve({ status: 400, text: '' }) : reject(error),
      );
      sent.end();
    });
    expect([400, 404, 405, 501]).toContain(answer.status);
    expect(answer.text).not.toContain('a-secret-of-the-browser');
  },
);

test('a GET that writes accepts no cookie from a page of another origin [S7, S130]', async () => {
  const states = async () => (await app.db.sql`select count(*)::int as n from connect_states`)[0]!['n'] as number;
  const path = '/integrations/social/sandbox';
  const before = await states();
  for (const headers of [
    { origin: 'https://attacker.example' },
    { origin: 'null' },
    { referer: 'https://attacker.example/page' },
    { referer: 'no address' },
    { 'sec-fetch-site': 'cross-site' },
  ])
    expect([headers, (await ann.client.get(path, headers)).body.code]).toEqual([headers, 'csrf_failed']);
  expect(await states()).toBe(before);
  const own = new URL(app.address).origin;
  for (const headers of [{}, { origin: own }, { referer: `${own}/channels` }, { 'sec-fetch-site': 'same-origin' }])
    expect([headers, (await ann.client.get(path, headers)).body.code]).not.toEqual([headers, 'csrf_failed']);
  const byHeader = await app
    .client()
    .get(path, { auth: ann.client.cookies.get('auth'), origin: 'https://attacker.example' });
  expect(byHeader.body.code).not.toBe('csrf_failed'); // who has the token needs no cookie
});

describe('the Host of a request', () => {
  const asked = (base: string, host: string) =>
    new Promise<number>((done, fail) => {
      const { hostname, port } = new URL(base);
      get({ host: hostname, port, path: '/openapi.json', headers: { host } }, (response) =>
        done(response.resume().statusCode!),
      ).on('error', fail);
    });

  test('the Host is one of this machine or of the settings outside production: no page reaches the service under its own name', async () => {
    await using open = await testApp({
      sql: app.db.sql,
      env: { FRONTEND_URL: 'https://app.example.com', BACKEND_INTERNAL_URL: 'http://backend:3000' },
    });
    for (const host of [
      'attacker.example',
      'attacker.example:3000',
      '127.0.0.1.attacker.example',
      'localhost.attacker.example',
    ])
      expect([host, await asked(open.address, host)]).toEqual([host, 403]);
    for (const host of [
      'localhost',
      'localhost:3000',
      'rookery.localhost',
      '127.0.0.1:1',
      '[::1]:3000',
      '192.168.1.7:3000',
      'app.example.com',
      'backend:3000',
    ])
      expect([host, await asked(open.address, host)]).toEqual([host, 200]);
  });

  test('the Host is left to the proxy in production', async () => {
    const env = {
      NODE_ENV: 'production',
      FRONTEND_URL: 'https://app.example.com',
      NEXT_PUBLIC_BACKEND_URL: 'https://app.example.com/api',
    };
    await using secure = await testApp({ sql: app.db.sql, env });
    expect(await asked(secure.address, 'balancer.internal')).toBe(200);
  });
});
