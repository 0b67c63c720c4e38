import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { isDocumentAddress, keptSeconds } from '../../../src/oauth-server/client-documents.ts';
import { type SignedUp, testApp, type TestApp } from '../../support/worlds/app.ts';
import { testDatabase } from '../../support/wire/database.ts';
import { approve, exchange, opens, pkce } from '../../support/worlds/oauth.ts';
import { type Outside, startOutside } from '../../support/wire/outside.ts';

const HOST = 'agent.example';
const ID = `https://${HOST}/client.json`;
const REDIRECT = 'http://127.0.0.1/callback';

let db: Awaited<ReturnType<typeof testDatabase>>;
let outside: Outside;
let app: TestApp;
let ann: SignedUp;
beforeAll(async () => {
  db = await testDatabase();
  outside = await startOutside([HOST]);
  app = await testApp({ sql: db.sql, network: outside.network });
  await app.signUp();
  ann = await app.signUp();
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
  await outside[Symbol.asyncDispose]();
  await db[Symbol.asyncDispose]();
});

const document = (more: object = {}) => ({ client_id: ID, client_name: 'Agent', redirect_uris: [REDIRECT], ...more });
const answerWith = (json: unknown, status = 200) => outside.on(`GET ${HOST}/client.json`, () => ({ status, json }));
const shown = (clientId = ID) =>
  app.client().get(`/oauth/authorize?${new URLSearchParams({ client_id: clientId, ...pkce().challenge }).toString()}`);
const forget = () => db.sql`update oauth_clients set document_until = now() where client_id = ${ID}`;

describe('a client that is named by a document', () => {
  test('is announced, shown with its host, approved and gets tokens, its document read once in its time', async () => {
    const discovery = await app.client().get('/.well-known/oauth-authorization-server');
    expect(discovery.body.client_id_metadata_document_supported).toBe(true);
    answerWith(document({ client_uri: 'https://agent.example/' }));
    const { status, body } = await shown();
    expect([status, body.app]).toEqual([
      200,
      expect.objectContaining({ name: 'Agent', clientId: ID, clientHost: HOST, redirectUrl: REDIRECT }),
    ]);
    const { verifier, challenge } = pkce();
    const redirect = 'http://127.0.0.1:45678/callback'; // the port is the client's own
    const { code } = await approve(ann, ID, { ...challenge, redirect_uri: redirect });
    const tokens = await exchange(app, { clientId: ID }, { code, code_verifier: verifier, redirect_uri: redirect });
    expect(await opens(app, tokens.body.access_token)).toBe(200);
    expect(outside.to(HOST)).toHaveLength(1);
    expect((await ann.client.get('/user/approved-apps')).body[0].app).toMatchObject({ name: 'Agent', clientId: ID });
    await forget();
    answerWith(document({ client_name: 'Agent 2' }));
    expect((await shown()).body.app.name).toBe('Agent 2');
  });

  test('is refused with a document that is not its own, cannot be read or asks for what it may not have', async () => {
    const bad: [string, unknown, number?][] = [
      ['another client', document({ client_id: 'https://agent.example/other.json' })],
      ['a secret', document({ token_endpoint_auth_method: 'client_secret_post' })],
      ['a page of a browser', document({ redirect_uris: ['javascript:alert(1)'] })],
      ['no redirect', document({ redirect_uris: [] })],
      ['too much', document({ client_uri: `https://agent.example/${'x'.repeat(6_000)}` })],
      ['no document', 'hello'],
      ['a redirect', {}, 302],
      ['a failure', {}, 500],
    ];
    for (const [what, json, status] of bad) {
      await forget();
      answerWith(json, status);
      const answer = await shown();
      expect([what, answer.status, answer.body.error]).toEqual([what, 400, 'invalid_client']);
      expect(
        (await ann.client.post('/oauth/authorize', { client_id: ID, action: 'approve', ...pkce().challenge })).status,
      ).toBe(400);
    }
    for (const other of [
      'https://10.0.0.1/c.json',
      'https://unknown.example/c.json',
      'https://agent.example/',
      'https://agent.example/c.json#x',
    ]) {
      const answer = await shown(other);
      expect([other, answer.status, answer.body.error]).toEqual([other, 400, 'invalid_client']);
    }
  });

  test('is kept among the newest 5,000 unused ones, and drives out none that registered itself', async () => {
    await db.sql`
      insert into oauth_clients (id, client_id, name, description, redirect_uris, scope, document_until, updated_at)
      select gen_random_uuid(), 'https://many.example/' || n, 'Many', '', '{}', '{}', now(),
        now() - interval '1 day' - n * interval '1 s'
      from generate_series(1, 5000) n`;
    await db.sql`
      insert into oauth_clients (id, client_id, name, description, redirect_uris, scope, created_at, updated_at)
      values (gen_random_uuid(), 'pcd_registered', 'Old', '', '{}', '{}', now() - interval '2 days', now() - interval '2 days')`;
    const ID2 = `https://${HOST}/second.json`;
    outside.on(`GET ${HOST}/second.json`, () => ({ status: 200, json: document({ client_id: ID2 }) }));
    expect((await shown(ID2)).status).toBe(200);
    const [left] = await db.sql`
      select count(*) filter (where client_id like 'https://many.example/%')::int as many,
        bool_or(client_id = 'https://many.example/5000') as oldest, bool_or(client_id = 'pcd_registered') as registered,
        bool_or(client_id = ${ID2}) as newest
      from oauth_clients`;
    expect(left).toMatchObject({ oldest: false, registered: true, newest: true });
    expect(left!['many']).toBeLessThan(5_000);
    await db.sql`delete from oauth_clients where name in ('Many', 'Old')`;
  });

  test('cannot take the place of one that registered itself', async () => {
    await db.sql`
      insert into oauth_clients (id, client_id, name, redirect_uris, scope)
      values (gen_random_uuid(), 'https://agent.example/taken.json', 'Registered', '{https://a.example/}', '{mcp:read}')`;
    outside.on(`GET ${HOST}/taken.json`, () => ({ json: document({ client_id: 'https://agent.example/taken.json' }) }));
    expect((await shown('https://agent.example/taken.json')).body.app.name).toBe('Registered');
  });
});

test.each([
  ['https://a.example/c', true],
  ['https://a.example:8443/c?x=1', true],
  ['http://a.example/c', false],
  ['https://a.example', false],
  ['https://a.example/a/../c', false],
  ['https://u@a.example/c', false],
  ['https://a.example/c#f', false],
  ['HTTPS://a.example/c', false],
])('%s is the address of a document: %s', (address, is) => {
  expect(isDocumentAddress(address)).toBe(is);
});

test.each([
  [null, 300],
  ['max-age=60', 300],
  ['public, max-age=3600', 3_600],
  ['max-age=999999999', 86_400],
  ['no-store', 300],
])('a document with Cache-Control %s is kept for %i s', (header, seconds) => {
  expect(keptSeconds(header)).toBe(seconds);
});
