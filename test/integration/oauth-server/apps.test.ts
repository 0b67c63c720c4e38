import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { newId, sha256, systemClock } from '../../../src/platform/kernel/index.ts';
import { type SignedUp, testApp, type TestApp } from '../../support/worlds/app.ts';
import { testDatabase } from '../../support/wire/database.ts';
import { settles } from '../../support/wire/settles.ts';
import {
  approval,
  approve,
  CALLBACK,
  exchange,
  makeApp,
  opens,
  refresh,
  tokensFor,
} from '../../support/worlds/oauth.ts';

/** Time passes only by the test. */
let elapsed = 0;
let db: Awaited<ReturnType<typeof testDatabase>>;
let app: TestApp;
beforeAll(async () => {
  db = await testDatabase({ connections: 8 });
  app = await testApp({ sql: db.sql, clock: { ...systemClock, monotonic: () => elapsed } });
  await app.signUp(); // the first is a super-admin
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
  await db[Symbol.asyncDispose]();
});

const picture = async (orgId: string, kind = 'image') => {
  const id = newId();
  await db.sql`
    insert into files (id, org_id, name, original_name, storage_key, kind, mime, bytes)
    values (${id}, ${orgId}, 'logo.png', 'logo.png', ${`${orgId}/${id}.png`}, ${kind}, 'image/png', 1)`;
  return id;
};
const acts = async (orgId: string) =>
  (
    await db.sql<
      { action: string }[]
    >`select action from audit_log where org_id = ${orgId} and resource = 'oauth_apps' order by id`
  ).map(({ action }) => action);

describe('the app of an org', () => {
  test('is created, shown, changed and deleted: the secret is shown twice, the hash is stored, each act is in the audit log [OA1, OA2, OA4, OA5, OA6, OA7, OA19, OA20, OA21, OA22, OA23, S81, S82, S83, S84]', async () => {
    const ann = await app.signUp();
    expect(await ann.client.get('/user/oauth-app')).toMatchObject({ status: 200, text: 'null' });

    const pictureId = await picture(ann.orgId);
    const made = await ann.client.post('/user/oauth-app', {
      name: ' Planner ',
      description: 'Plans',
      pictureId,
      redirectUrl: CALLBACK,
    });
    expect(made.status).toBe(201);
    expect(made.body).toEqual({
      id: expect.any(String),
      name: 'Planner',
      description: 'Plans',
      pictureId,
      clientId: expect.stringMatching(/^pca_[0-9A-Za-z]{24}$/),
      clientSecret: expect.stringMatching(/^pcs_[0-9A-Za-z]{43}$/),
      redirectUrl: CALLBACK,
    });
    const { id, clientId, clientSecret } = made.body;
    const shown = {
      id,
      name: 'Planner',
      description: 'Plans',
      pictureId,
      picture: { id: pictureId, path: expect.stringContaining(`/uploads/${ann.orgId}/${pictureId}.png`) },
      redirectUrl: CALLBACK,
      clientId,
      scope: 'mcp:read mcp:posts:write',
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
    };
    expect((await ann.client.get('/user/oauth-app')).body).toEqual(shown);
    const changed = await ann.client.put('/user/oauth-app', { name: 'Planner 2', pictureId: null });
    expect(changed).toMatchObject({
      status: 200,
      body: { ...shown, name: 'Planner 2', pictureId: null, picture: null, updatedAt: expect.any(String) },
    });
    expect((await ann.client.put('/user/oauth-app', { redirectUrl: 'http://127.0.0.1/cb' })).body.redirectUrl).toBe(
      'http://127.0.0.1/cb',
    );
    expect((await ann.client.put('/user/oauth-app', {})).body).toMatchObject({
      name: 'Planner 2',
      redirectUrl: 'http://127.0.0.1/cb',
    });

    const rotated = await ann.client.post('/user/oauth-app/rotate-secret');
    expect(rotated).toMatchObject({
      status: 200,
      body: { clientSecret: expect.stringMatching(/^pcs_[0-9A-Za-z]{43}$/) },
    });
    expect(Object.keys(rotated.body)).toEqual(['clientSecret']);
    const [row] = await db.sql`select * from oauth_clients where org_id = ${ann.orgId}`;
    expect((row!['secret_hash'] as Buffer).equals(sha256(rotated.body.clientSecret))).toBe(true);
    for (const secret of [clientSecret, rotated.body.clientSecret]) {
      expect(JSON.stringify(row)).not.toContain(secret);
      expect((await ann.client.get('/user/oauth-app')).text).not.toContain(secret);
    }

    expect(await ann.client.delete('/user/oauth-app')).toMatchObject({ status: 200, body: { success: true } });
    expect((await ann.client.get('/user/oauth-app')).text).toBe('null');
    for (const [method, path] of [
      ['PUT', '/user/oauth-app'],
      ['DELETE', '/user/oauth-app'],
      ['POST', '/user/oauth-app/rotate-secret'],
    ] as const)
      expect((await ann.client.send(method, path)).status).toBe(404);
    expect(await acts(ann.orgId)).toEqual([
      'oauth_app.created',
      'oauth_app.updated',
      'oauth_app.updated',
      'oauth_app.updated',
      'oauth_app.secret_rotated',
      'oauth_app.deleted',
    ]);
  });

  test('is single: a second one is refused, and of twenty concurrent creates one succeeds [OA8, S82, X25]', async () => {
    const ann = await app.signUp();
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        ann.client.post('/user/oauth-app', { name: `App ${n}`, redirectUrl: CALLBACK }),
      ),
    );
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    for (const { status, body } of answers.filter((one) => one.status !== 201))
      expect([status, body.code]).toEqual([400, 'oauth_app_exists']);
    expect(await acts(ann.orgId)).toEqual(['oauth_app.created']);
  });

  test('rejects invalid fields by name and answers a foreign app as unknown [S82, S9]', async () => {
    const ann = await app.signUp();
    const eve = await app.signUp();
    const theirs = await picture(eve.orgId);
    const film = await picture(ann.orgId, 'video');
    const wrong: [string, unknown][] = [
      ['pictureId', theirs],
      ['pictureId', newId()],
      ['pictureId', 'impossible'],
      ['pictureId', film],
      ['name', ''],
      ['name', 'x'.repeat(101)],
      ['description', 'x'.repeat(501)],
      ...[
        '',
        'x',
        '/cb',
        'http://client.example/cb',
        'https://',
        'https://a.example/#x',
        'https://me@a.example/',
        'javascript:alert(1)',
        'data:text/html,x',
        'https://a.example/\\x',
        'http://127.0.0.1.evil.example/',
        'http://localhost@evil.example/',
        `https://a.example/${'x'.repeat(2_100)}`,
      ].map((url): [string, unknown] => ['redirectUrl', url]),
    ];
    for (const [field, value] of wrong) {
      const { status, body } = await ann.client.post('/user/oauth-app', {
        name: 'A',
        redirectUrl: CALLBACK,
        [field]: value,
      });
      expect([field, value, status, body.errors?.[0]?.field]).toEqual([field, value, 400, field]);
    }
    for (const url of [
      'https://a.example',
      'http://127.0.0.1:8080/cb',
      'http://localhost/cb',
      'http://[::1]/cb',
      'com.example.app:/cb',
      'cursor://anysphere.cursor-mcp/oauth/callback',
    ]) {
      expect([url, (await ann.client.post('/user/oauth-app', { name: 'A', redirectUrl: url })).status]).toEqual([
        url,
        201,
      ]);
      await ann.client.delete('/user/oauth-app');
    }
  });

  test('of a disabled or deleted org gets no consent, exchange or refresh, and its tokens end [S211, S44]', async () => {
    for (const column of ['disabled_at', 'deleted_at']) {
      const [ann, bob] = [await app.signUp(), await app.signUp()];
      const client = await makeApp(ann);
      const { access, refresh: refreshToken } = await tokensFor(app, bob, client);
      const { code } = await approve(bob, client.clientId);
      expect(await opens(app, access)).toBe(200);
      const shut = (at: Date | null) =>
        db.sql`update organizations set ${db.sql({ [column]: at })} where id = ${ann.orgId}`;
      await shut(new Date());
      expect((await app.client().get(`/oauth/authorize?client_id=${client.clientId}`)).body.error).toBe(
        'invalid_client',
      );
      expect((await bob.client.post('/oauth/authorize', approval(client.clientId))).body.error).toBe('invalid_client');
      expect((await exchange(app, client, { code })).status).toBe(401);
      expect((await refresh(app, client, refreshToken)).status).toBe(401);
      elapsed += 1_000; // what changed by another process is seen within a second
      expect(await opens(app, access)).toBe(401);
      await shut(null);
      // nobody was authenticated, so nothing was used up
      expect((await exchange(app, client, { code })).status).toBe(200);
    }
  });

  test('its redirectUrl is matched exactly [OA3]', async () => {
    const ann = await app.signUp();
    const { clientId } = await makeApp(ann);
    expect(
      (await app.client().get(`/oauth/authorize?client_id=${clientId}&redirect_uri=${encodeURIComponent(CALLBACK)}`))
        .status,
    ).toBe(200);
    expect(
      (
        await app
          .client()
          .get(`/oauth/authorize?client_id=${clientId}&redirect_uri=${encodeURIComponent(`${CALLBACK}/`)}`)
      ).status,
    ).toBe(400);
  });

  test('rejects a rotated secret at once and accepts the new one [OA23, S84]', async () => {
    const ann = await app.signUp();
    const client = await makeApp(ann);
    const { body } = await ann.client.post('/user/oauth-app/rotate-secret');
    const { code } = await approve(ann, client.clientId);
    expect((await exchange(app, client, { code })).status).toBe(401);
    expect((await exchange(app, { ...client, clientSecret: body.clientSecret }, { code })).status).toBe(200);
  });

  test('revokes every authorization and token of the app when it is deleted [OA22, X18]', async () => {
    const ann = await app.signUp();
    const client = await makeApp(ann);
    const { access, refresh: refreshToken } = await tokensFor(app, ann, client);
    const { code } = await approve(ann, client.clientId);
    expect(await opens(app, access)).toBe(200);
    await ann.client.delete('/user/oauth-app');
    expect(await opens(app, access)).toBe(401);
    expect((await ann.client.get('/user/approved-apps')).body).toEqual([]);
    expect((await exchange(app, client, { code })).body.error).toBe('invalid_client');
    expect((await exchange(app, client, { grant_type: 'refresh_token', refresh_token: refreshToken })).body.error).toBe(
      'invalid_client',
    );
    const [left] = await db.sql`
        select (select count(*)
        from oauth_tokens
        where org_id = ${ann.orgId})::int + (select count(*)
        from oauth_codes
        where org_id = ${ann.orgId})::int as n`;
    expect(left).toEqual({ n: 0 });
  });
});

describe('approved apps', () => {
  let ann: SignedUp;
  let eve: SignedUp;
  beforeAll(async () => {
    ann = await app.signUp();
    eve = await app.signUp();
  });

  test('list what the user approved in this org, with the last use; revoking ends all its tokens [OA37, OA38, S98, S254]', async () => {
    const client = await makeApp(eve, CALLBACK, 'Eve’s tool');
    expect((await ann.client.get('/user/approved-apps')).body).toEqual([]);
    const first = await tokensFor(app, ann, client, { scope: 'mcp:read' });
    const second = await tokensFor(app, ann, client);
    const { body: list } = await ann.client.get('/user/approved-apps');
    expect(list).toEqual([
      {
        id: expect.any(String),
        app: { name: 'Eve’s tool', description: 'Plans things', picture: null, clientId: client.clientId },
        scope: 'mcp:read mcp:posts:write',
        createdAt: expect.any(String),
        lastUsedAt: null,
      },
    ]);
    // a second approval lets earlier tokens live
    for (const { access } of [first, second]) expect(await opens(app, access)).toBe(200);
    expect((await ann.client.get('/user/approved-apps')).body[0].lastUsedAt).toEqual(expect.any(String));

    await db.sql`
      insert into memberships (org_id, user_id, role_key)
      values (${ann.orgId}, ${eve.userId}, 'owner')`; // not even of the same org
    for (const org of [eve.orgId, ann.orgId]) {
      expect((await eve.client.get('/user/approved-apps', { showorg: org })).body).toEqual([]);
      expect((await eve.client.delete(`/user/approved-apps/${list[0].id}`, undefined, { showorg: org })).status).toBe(
        404,
      );
    }
    await db.sql`delete from memberships where org_id = ${ann.orgId} and user_id = ${eve.userId}`;
    expect(await opens(app, first.access)).toBe(200);
    expect(await ann.client.delete(`/user/approved-apps/${list[0].id}`)).toMatchObject({
      status: 200,
      body: { success: true },
    });
    for (const { access, refresh: refreshToken } of [first, second]) {
      expect(await opens(app, access)).toBe(401);
      expect(
        (await exchange(app, client, { grant_type: 'refresh_token', refresh_token: refreshToken })).body.error,
      ).toBe('invalid_grant');
    }
    expect((await ann.client.delete(`/user/approved-apps/${list[0].id}`)).status).toBe(404);
    expect(await acts(ann.orgId)).toEqual([
      'oauth_authorization.approved',
      'oauth_authorization.approved',
      'oauth_authorization.revoked',
    ]);
  });

  test('end at once what may do more than a later, narrower approval: the list and the tokens agree [MC8, S98]', async () => {
    const bob = await app.signUp();
    const client = await makeApp(await app.signUp());
    const wide = await tokensFor(app, bob, client);
    const { code } = await approve(bob, client.clientId);
    const renewed = (await refresh(app, client, wide.refresh, { scope: 'mcp:read' })).body;
    expect(await opens(app, wide.access)).toBe(200);
    const narrow = await tokensFor(app, bob, client, { scope: 'mcp:read' });
    expect((await bob.client.get('/user/approved-apps')).body).toMatchObject([{ scope: 'mcp:read' }]);
    for (const access of [wide.access, renewed.access_token]) expect(await opens(app, access)).toBe(401);
    expect((await refresh(app, client, renewed.refresh_token)).body.error).toBe('invalid_grant');
    expect((await exchange(app, client, { code })).body.error).toBe('invalid_grant');
    expect(await opens(app, narrow.access)).toBe(200);
    expect((await refresh(app, client, narrow.refresh)).body.scope).toBe('mcp:read');
    await tokensFor(app, bob, client);
    expect(await opens(app, narrow.access)).toBe(200);
  });

  test('end the tokens that an earlier approval gets at the same moment as a narrower one is given [MC8]', async () => {
    const bob = await app.signUp();
    const client = await makeApp(await app.signUp());
    const { code } = await approve(bob, client.clientId);
    const waiting = (sessions: number) =>
      settles(async () =>
        expect(
          await db.sql`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
        ).toHaveLength(sessions),
      );
    const answers = await db.sql.begin(async (tx) => {
      await tx`select from oauth_authorizations where user_id = ${bob.userId} for update`;
      const exchanged = exchange(app, client, { code });
      await waiting(1);
      const approved = approve(bob, client.clientId, { scope: 'mcp:read' });
      await waiting(2);
      return { exchanged, approved };
    });
    await answers.approved;
    const { status, body } = await answers.exchanged;
    expect(status === 200 ? await opens(app, body.access_token) : status).toBe(status === 200 ? 401 : 400);
  });
});
