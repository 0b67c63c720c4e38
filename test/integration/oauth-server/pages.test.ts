import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createHash } from 'node:crypto';
import { runInNewContext } from 'node:vm';
import { routes } from '../../../api/resources/routes.gen.ts';
import { type SignedUp, testApp, type TestApp } from '../../support/worlds/app.ts';
import { findBrowser, openTab } from '../../support/peers/browser.ts';
import { eventually } from '../../support/wire/eventually.ts';
import { testDatabase } from '../../support/wire/database.ts';
import { CALLBACK, exchange, makeApp, opens, type OrgApp, pkce, register } from '../../support/worlds/oauth.ts';
import { describePeer, type Peer } from '../../support/peers/peers.ts';

const HTML = { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' };
let db: Awaited<ReturnType<typeof testDatabase>>;
let app: TestApp;
let ann: SignedUp;
let client: OrgApp;
beforeAll(async () => {
  db = await testDatabase();
  app = await testApp({ sql: db.sql });
  await app.signUp();
  ann = await app.signUp({ company: 'Ann’s Bakery' });
  client = await makeApp(ann, CALLBACK, '<b>Planner</b>');
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
  await db[Symbol.asyncDispose]();
});

const query = (more: Record<string, string> = {}) =>
  new URLSearchParams({ client_id: client.clientId, state: 'xyz', ...more }).toString();

describe('the pages over HTTP', () => {
  test.each([
    ['/oauth/authorize', () => `/oauth/authorize?${query()}`],
    ['/device', () => '/device?user_code=BCDF-GHJK'],
  ])(
    '%s is one document that runs only its own script, allows no frame and reflects nothing of the request [S85, S256, X5]',
    async (_, path) => {
      const { status, headers, text } = await app.client().get(path(), HTML);
      expect([
        status,
        headers.get('content-type'),
        headers.get('x-frame-options'),
        headers.get('referrer-policy'),
        headers.get('cache-control'),
        headers.get('x-content-type-options'),
      ]).toEqual([200, 'text/html; charset=utf-8', 'DENY', 'no-referrer', 'no-store', 'nosniff']);
      const hash = (tag: string) =>
        `'sha256-${createHash('sha256')
          .update(new RegExp(`<${tag}[^>]*>([^]*?)</${tag}>`).exec(text)![1]!)
          .digest('base64')}'`;
      expect(headers.get('content-security-policy')).toBe(
        `default-src 'none'; script-src ${hash('script')}; style-src ${hash('style')}; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
      );
      expect(text).not.toMatch(/innerHTML|insertAdjacentHTML|document\.write|\son\w+=|Planner|BCDF|https?:\/\//);
      for (const must of ['<html lang="en"', '<title>', '<h1', '<noscript>', '<label>']) expect(text).toContain(must);
    },
  );

  test('a browser below /api or at another host is redirected to the page [S85, S1]', async () => {
    await using other = await testApp({
      sql: db.sql,
      env: { FRONTEND_URL: 'https://app.example.com', NEXT_PUBLIC_BACKEND_URL: 'https://api.example.com' },
    });
    const page = `https://app.example.com/oauth/authorize?${query()}`;
    for (const [path, headers] of [
      [`/oauth/authorize?${query()}`, {}],
      [`/api/oauth/authorize?${query()}`, {}],
      [`/oauth/authorize?${query()}`, { 'x-forwarded-host': 'app.example.com' }],
    ] as const) {
      const answer = await other.client().get(path, { ...HTML, ...headers });
      expect([path, answer.status, answer.headers.get('location')]).toEqual([path, 302, page]);
    }
    const below = await app.client().get(`/api/oauth/authorize?${query()}`, HTML);
    expect([below.status, new URL(below.headers.get('location')!).pathname]).toEqual([302, '/oauth/authorize']);
    await using proxied = await testApp({
      sql: db.sql,
      env: {
        FRONTEND_URL: 'https://app.example.com',
        NEXT_PUBLIC_BACKEND_URL: 'https://api.example.com',
        TRUST_PROXY_HOPS: '1',
      },
    });
    const there = await proxied
      .client()
      .get(`/oauth/authorize?${query()}`, { ...HTML, 'x-forwarded-host': 'app.example.com' });
    expect([there.status, there.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
  });
});

/** The script of a page in the least that it needs of a browser: its elements, its address, the cookies of a person. */
async function openPage(path: string, person: SignedUp['client']) {
  const { text } = await person.get(path, HTML);
  const made = new Map<string, ReturnType<typeof element>>();
  const element = () => ({
    textContent: '',
    hidden: true,
    disabled: false,
    elements: { code: { value: '' } },
    click: undefined as (() => Promise<void>) | undefined,
    addEventListener(type: string, act: () => Promise<void>) {
      if (type === 'click') this.click = act;
    },
  });
  const byId = (id: string) => made.get(id) ?? made.set(id, element()).get(id)!;
  const href = app.address + path;
  const went: URL[] = [];
  await runInNewContext(`(async () => {${/<script type="module">([^]*)<\/script>/.exec(text)![1]}})()`, {
    URL,
    URLSearchParams,
    location: { href, search: new URL(href).search, assign: (to: string) => went.push(new URL(to)) },
    document: {
      getElementById: byId,
      documentElement: { dataset: { root: /data-root="([^"]*)"/.exec(text)![1] } },
      cookie: `csrf_token=${person.csrf}`,
    },
    async fetch(
      to: URL,
      { method, headers, body }: { method: string; headers: Record<string, string>; body?: string },
    ) {
      const { status, body: answer } = await person.send(method, to.pathname + to.search, body, headers);
      return { status, json: async () => answer };
    },
  });
  return { byId, went };
}

test('the page describes each scope in words: every resource that its routes read or change [S85, S89]', async () => {
  const bob = await app.signUp();
  const { byId } = await openPage(`/oauth/authorize?${query()}`, bob.client);
  const shown = byId('scopes').textContent.split('\n');
  expect(shown.every((line) => line.startsWith('• '))).toBe(true);
  const reads = shown[0]!;
  const changes = shown.slice(1).join('\n');
  const open = routes.filter(({ auth }) => auth.includes('oauth'));
  const resourcesOf = (list: typeof routes) =>
    new Set(list.flatMap(({ permission }) => (permission ? [permission.split(':')[0]!] : [])));
  expect(resourcesOf(open).size).toBeGreaterThan(3);
  for (const resource of resourcesOf(open.filter(({ method }) => method === 'get'))) expect(reads).toContain(resource);
  for (const resource of resourcesOf(open.filter(({ method }) => method !== 'get')))
    expect(changes).toContain(resource);
  expect(changes).toMatch(/sent to addresses that the app chooses/);
});

test('a faulty request of a self-registered client is not redirected; that of an app of an organization is [S85, S94]', async () => {
  const own = await register(app);
  for (const more of [{ response_type: 'x' }, { scope: 'mcp:admin' }]) {
    const parameters = (id: string) =>
      new URLSearchParams({ client_id: id, response_type: 'code', ...more }).toString();
    const stays = await app.client().get(`/oauth/authorize?${parameters(own.client_id)}`, HTML);
    expect([stays.status, stays.headers.get('location'), stays.body.error]).toEqual([
      400,
      null,
      expect.stringMatching(/^(unsupported_response_type|invalid_request)$/),
    ]);
    const goes = await app.client().get(`/oauth/authorize?${parameters(client.clientId)}`, HTML);
    expect([goes.status, goes.headers.get('location')?.startsWith(CALLBACK)]).toEqual([302, true]);
  }
});

test('a decision is for the organization shown on the page, whatever another tab selects meanwhile [S45, S87]', async () => {
  const bob = await app.signUp({ company: 'Bob’s first' });
  const second = (await bob.client.post('/orgs', { name: 'Bob’s second' })).body.id;
  const { byId, went } = await openPage(`/oauth/authorize?${query()}`, bob.client);
  expect([byId('org').textContent, byId('approve').disabled]).toEqual(['Bob’s first', false]);
  await bob.client.post('/user/change-org', { id: second });
  await byId('approve').click!();
  expect([went[0]!.origin + went[0]!.pathname, went[0]!.searchParams.has('code')]).toEqual([CALLBACK, true]);
  expect(await db.sql`select org_id from oauth_authorizations where user_id = ${bob.userId}`).toEqual([
    { org_id: bob.orgId },
  ]);
});

await describePeer('chromium', findBrowser, ({ start }) => {
  let browser: Peer;
  beforeAll(async () => {
    browser = await start();
  }, 120_000);
  afterAll(async () => browser.stop());

  test('a person without a session logs in, sees the request and approves by keyboard; the app gets tokens [OA12, OA26, S85, S87]', async () => {
    const received: URL[] = [];
    const { createServer } = await import('node:http');
    const listener = createServer((request, response) => {
      received.push(new URL(request.url!, 'http://127.0.0.1'));
      response.end('Back at the app');
    });
    await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
    const callback = `http://127.0.0.1:${(listener.address() as { port: number }).port}/cb`;
    const agent = await register(app, {
      redirect_uris: ['http://127.0.0.1/cb'],
      client_name: '<img src=x onerror="document.title=1">',
    });
    const { verifier, challenge } = pkce();

    await using tab = await openTab(browser.url);
    await tab.goto(
      `${app.address}/oauth/authorize?${new URLSearchParams({ client_id: agent.client_id, redirect_uri: callback, state: 'a b&c', scope: 'mcp:read', ...challenge })}`,
    );
    await tab.until(`!document.getElementById('login').hidden`);
    expect(
      await tab.evaluate<boolean[]>(`['deny', 'approve'].map((id) => document.getElementById(id).disabled)`),
    ).toEqual([true, true]);
    await tab.evaluate(`document.querySelector('[name=email]').focus()`);
    await tab.press(ann.email, 'Tab', ann.password, 'Enter');
    await tab.until(`!document.getElementById('approve').disabled`);
    const shown = await tab.evaluate<string>('document.body.innerText');
    for (const text of [
      '<img src=x onerror="document.title=1">',
      'Ann’s Bakery',
      'Read posts',
      `http://${new URL(callback).host}`,
    ])
      expect(shown).toContain(text);
    expect(shown).not.toContain('Create, change');
    expect(await tab.evaluate<string>('document.title')).toBe('An app asks for access');

    await tab.evaluate(`document.getElementById('deny').focus()`);
    await tab.press('Tab', 'Enter'); // on to Approve
    await tab.until(`document.body.innerText.includes('Back at the app')`);
    const { searchParams } = received[0]!;
    expect(searchParams.get('state')).toBe('a b&c');
    const { body } = await exchange(
      app,
      { clientId: agent.client_id },
      { code: searchParams.get('code'), code_verifier: verifier, redirect_uri: callback },
    );
    expect([await opens(app, body.access_token), body.scope]).toEqual([200, 'mcp:read']);
    expect(tab.complaints).toEqual([]);
    listener.closeAllConnections(); // the browser keeps some that it never used
    await new Promise((resolve) => listener.close(resolve));
  });

  test('denying redirects with access_denied; an invalid request is explained and not redirected [OA13, S252]', async () => {
    await using tab = await openTab(browser.url);
    await tab.setCookies(app.address, ann.client.cookies);
    await tab.goto(`${app.address}/oauth/authorize?${query()}`);
    await tab.until(`!document.getElementById('deny').disabled`);
    await tab.evaluate(
      `window.went = []; navigation.addEventListener('navigate', (event) => { event.preventDefault(); window.went.push(event.destination.url); })`,
    );
    await tab.evaluate(`document.getElementById('deny').click()`);
    await tab.until('window.went.length === 1');
    const to = new URL(await tab.evaluate<string>('window.went[0]'));
    expect([to.origin + to.pathname, to.searchParams.get('error'), to.searchParams.get('state')]).toEqual([
      CALLBACK,
      'access_denied',
      'xyz',
    ]);

    await tab.goto(`${app.address}/device`); // a page of ours, to ask from as the consent page does
    await tab.until(`document.getElementById('find')`);
    await tab.goto(`${app.address}/oauth/authorize?${query({ redirect_uri: 'https://evil.example/' })}`);
    await tab.until(`document.body.innerText.includes('invalid_request')`);
    expect(await tab.evaluate<string>('location.origin')).toBe(app.address);
  });

  test('a device is connected by its code [S95, S256]', async () => {
    const { body } = await app.client().post('/device/code', {}, { 'user-agent': 'a device' });
    await using tab = await openTab(browser.url);
    await tab.setCookies(app.address, ann.client.cookies);
    await tab.goto(`${app.address}/device?user_code=${body.user_code}`);
    await tab.until(`!document.getElementById('find').hidden`);
    // a link fills nothing in
    expect(await tab.evaluate<string>(`document.querySelector('[name=code]').value`)).toBe('');
    await tab.evaluate(`document.querySelector('[name=code]').focus()`);
    await tab.press('BBBB-BBBB', 'Tab', 'Enter');
    await tab.until(`document.getElementById('message').innerText.includes('no such code')`);
    await tab.evaluate(
      `(document.querySelector('[name=code]').value = '', document.querySelector('[name=code]').focus())`,
    );
    await tab.press(body.user_code.toLowerCase(), 'Tab', 'Enter');
    await tab.until(`!document.getElementById('decide').hidden`);
    const shown = await tab.evaluate<string>('document.body.innerText');
    for (const told of ['a key with all your rights in Ann’s Bakery', 'for 90 days', '127.0.0.1', 'a device'])
      expect(shown).toContain(told);
    await tab.evaluate(`document.querySelector('[value=approve]').focus()`);
    await tab.press('Enter');
    await tab.until(`document.getElementById('message').innerText.includes('connected')`);
    const got = await app.client().post('/device/token', { device_code: body.device_code });
    expect([got.status, got.body.organization_id, tab.complaints]).toEqual([200, ann.orgId, []]);
  });

  test('another page cannot frame it, nor send a decision with the cookies of the person [X9]', async () => {
    const { createServer } = await import('node:http');
    const evil = createServer((_, response) => {
      response.setHeader('content-type', 'text/html');
      response.end(`<iframe src="${app.address}/oauth/authorize?${query().replaceAll('&', '&amp;')}"></iframe>`);
    });
    await new Promise<void>((resolve) => evil.listen(0, '127.0.0.1', resolve));
    await using _evil = {
      async [Symbol.asyncDispose]() {
        evil.closeAllConnections();
        await new Promise((resolve) => evil.close(resolve));
      },
    };
    await using tab = await openTab(browser.url);
    await tab.setCookies(app.address, ann.client.cookies);
    await tab.goto(`http://127.0.0.1:${(evil.address() as { port: number }).port}/`);
    await tab.until(`document.querySelector('iframe')`);
    const count = async () => (await db.sql`select count(*)::int as n from oauth_codes`)[0]!['n'] as number;
    const before = await count();
    const answer = await tab.evaluate<string>(
      `fetch('${app.address}/oauth/authorize', { method: 'POST', credentials: 'include', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ client_id: '${client.clientId}', action: 'approve' }) }).then((r) => String(r.status), () => 'refused')`,
    );
    expect([answer, await count()]).toEqual(['refused', before]);
    // not ours to look into: neither the page nor the empty one before it
    await tab.until(`document.querySelector('iframe').contentDocument === null`);
    const blocked = /frame-ancestors|X-Frame-Options|Refused to frame/;
    await eventually('the browser says that it frames nothing', () =>
      tab.complaints.some((text) => blocked.test(text)),
    );
  });
});
