import { afterAll, describe, expect, test } from '@jest/globals';
import { openAuth } from '../../../../src/people/auth/index.ts';
import { openDatabase } from '../../../../src/platform/db/index.ts';
import { newId, sha256, systemClock } from '../../../../src/platform/kernel/index.ts';
import { testApp } from '../../../support/worlds/app.ts';
import { create, list, openKeys } from '../../../support/worlds/keys.ts';
import { eventually } from '../../../support/wire/eventually.ts';
import { waitingOnLock } from '../../../support/wire/database/waiting-on-lock.ts';

const world = await openKeys();
afterAll(() => world[Symbol.asyncDispose]());
const { db, app, clock, ann, eve, aSecondLater, works } = world;
const hour = 3_600_000;
const later = (ms: number) => new Date(new Date().getTime() + ms).toISOString();

describe('create', () => {
  test.each([
    ['name', undefined, 'required'],
    ['name', '', 'too_small'],
    ['name', '   ', 'too_small'],
    ['name', 'x'.repeat(101), 'too_big'],
    ['name', 1, 'invalid_type'],
    ['name', null, 'invalid_type'],
    ['name', ['a'], 'invalid_type'],
    ['name', 'a\u0000', 'invalid_characters'],
    ['expiresAt', 'tomorrow', 'invalid_format'],
    ['expiresAt', '2020-01-01T00:00:00Z', 'too_small'],
    ['expiresAt', 1_900_000_000, 'invalid_type'],
    ['expiresAt', '', 'invalid_format'],
    ['expiresAt', '2030-02-30T00:00:00Z', 'invalid_format'],
    ['userId', 'x', 'unknown'],
    ['organizationId', 'x', 'unknown'],
    ['role', 'owner', 'unknown'],
    ['revokedAt', null, 'unknown'],
    ['plaintext', 'x', 'unknown'],
    ['scopes', [], 'unknown'],
  ])('rejects %s = %j: %s [S55, S6, X24]', async (field, value, rule) => {
    const before = await db.sql`select count(*) from api_keys`;
    const { status, body } = await create(ann.client, { name: 'ok', [field]: value });
    expect([status, body.errors]).toEqual([400, [{ field, message: expect.any(String), rule }]]);
    expect(await db.sql`select count(*) from api_keys`).toEqual(before);
  });
  test('accepts an offset in the expiry; null means no expiry [AK7]', async () => {
    await create(ann.client, { name: 'offset', expiresAt: '2999-01-01T02:00:00+02:00' });
    expect((await list(ann.client))[0]!.expiresAt).toBe('2999-01-01T00:00:00.000Z');
    await create(ann.client, { name: 'null', expiresAt: null });
    expect((await list(ann.client))[0]!.expiresAt).toBeNull();
  });
  test('is limited to fifty live keys for a user and org, also under concurrency [S55, X25]', async () => {
    const bob = await app.signUp();
    const answers = await Promise.all(Array.from({ length: 60 }, () => create(bob.client)));
    expect([
      answers.filter(({ status }) => status === 201).length,
      answers.filter(({ status }) => status === 400).length,
    ]).toEqual([50, 10]);
    const [one] = await list(bob.client);
    await bob.client.delete(`/user/api-keys/${one!.id}`);
    expect((await create(bob.client)).status).toBe(201);
    await db.sql`
      insert into api_keys (id, org_id, user_id, name, prefix, key_hash, expires_at)
      values (${newId()}, ${bob.orgId}, ${bob.userId}, 'over', 'pm_live_xxxx', ${sha256('over')},
        now() - interval '1 day')`;
    const { id } = (await list(bob.client)).find(({ name }) => name === 'over')!;
    expect((await bob.client.post(`/user/api-keys/${id}/rotate`)).status).toBe(400); // it was none of the fifty
  }, 60_000);
  test('leaves no key of a user removed at that moment that a new invitation could revive [S53, X13]', async () => {
    const bob = await app.signUp();
    let asked: ReturnType<typeof create> | undefined;
    await db.sql.begin(async (tx) => {
      await tx`select 1 from memberships where user_id = ${bob.userId} for update`;
      asked = create(bob.client); // is let in, and waits for the row
      // Asked outside: within a transaction the answer stays the first one. By its text: notes of use wait for the same
      // row.
      const waits = async () => (await waitingOnLock(db.sql, 'for update of m')) > 0;
      await eventually('it waits for the row', waits);
      await tx`delete from memberships where user_id = ${bob.userId}`;
    });
    expect((await asked!).status).toBe(403);
    expect(await db.sql`select 1 from api_keys where user_id = ${bob.userId}`).toHaveLength(0);
  });
});

describe('revoke and rotate', () => {
  test('a revoked key stops working at once and keeps its row; a second revocation succeeds [AK8, AK10, AK19, S56]', async () => {
    const { key } = await ann.withKey();
    expect(await works(key)).toBe(true);
    const { id } = (await list(ann.client))[0]!;
    expect((await ann.client.delete(`/user/api-keys/${id}`)).body).toEqual({ success: true });
    expect(await works(key)).toBe(false);
    expect((await list(ann.client))[0]).toMatchObject({ id, revokedAt: expect.stringMatching(/Z$/) });
    const before = await list(ann.client);
    expect((await ann.client.delete(`/user/api-keys/${id}`, {})).body).toEqual({ success: true });
    expect(await list(ann.client)).toEqual(before);
    await db.sql`update api_keys set revoked_at = now() - interval '91 days' where id = ${id}`;
    expect((await list(ann.client)).map((row) => row.id)).not.toContain(id);
  });
  test('a rotated key ends in the same commit; the new one has the same owner and no expiry of the old [AK11, AK12, AK18, S56]', async () => {
    const { body: old } = await create(ann.client, { name: 'deploy', expiresAt: later(hour) });
    expect(await works(old.plaintext)).toBe(true);
    const { id } = (await list(ann.client))[0]!;
    const { status, body } = await ann.client.post(`/user/api-keys/${id}/rotate`);
    expect([status, body]).toEqual([
      201,
      {
        plaintext: expect.stringMatching(/^pm_live_[0-9A-Za-z]{43}$/),
        prefix: body.plaintext.slice(0, 12),
        name: 'deploy',
      },
    ]);
    expect([await works(old.plaintext), await works(body.plaintext)]).toEqual([false, true]);
    const [fresh, gone] = await list(ann.client);
    expect([fresh!.expiresAt, gone!.id, gone!.revokedAt === null]).toEqual([null, id, false]);
    const [row] = await db.sql`select org_id, user_id from api_keys where id = ${fresh!.id}`;
    expect(row).toEqual({ org_id: ann.orgId, user_id: ann.userId });
    const renamed = await ann.client.post(`/user/api-keys/${fresh!.id}/rotate`, {
      name: 'deploy 2',
      expiresAt: later(hour),
    });
    expect(renamed.body.name).toBe('deploy 2');
  });
  test('a rotated key takes over the posts that are being counted at that moment', async () => {
    const bob = await app.signUp();
    await bob.withKey();
    const { id } = (await list(bob.client))[0]!;
    const limits = { requestsPerHour: null, postsPerDay: 5, aiCentsPerDay: null };
    expect((await bob.client.put(`/user/api-keys/${id}/limits`, limits)).status).toBe(200);
    let rotating: ReturnType<typeof create> | undefined;
    await db.sql.begin(async (tx) => {
      await tx`
        update program_limits
        set posts_day = (now() at time zone 'UTC')::date, posts = 3
        where api_key_id = ${id}`;
      rotating = bob.client.post(`/user/api-keys/${id}/rotate`);
      // asked outside, and by its text, as above
      const waits = async () => (await waitingOnLock(db.sql, 'into program_limits')) > 0;
      await eventually('it waits for the row', waits);
    });
    expect((await rotating!).status).toBe(201);
    const rows = await db.sql`
      select l.posts_per_day as max, l.posts
      from program_limits l
      join api_keys k on k.id = l.api_key_id and k.revoked_at is null
      where k.user_id = ${bob.userId}`;
    expect(rows).toEqual([{ max: 5, posts: 3 }]);
  });
  test('a revoked key cannot be rotated; ten rotations at once give one key [S56, X25]', async () => {
    const bob = await app.signUp();
    await create(bob.client);
    const { id } = (await list(bob.client))[0]!;
    const answers = await Promise.all(Array.from({ length: 10 }, () => bob.client.post(`/user/api-keys/${id}/rotate`)));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([201, ...Array.from({ length: 9 }, () => 409)]);
    expect(await list(bob.client)).toHaveLength(2);
  });
  test.each([
    ['name', 1],
    ['name', ''],
    ['expiresAt', 'x'],
    ['expiresAt', '2020-01-01T00:00:00Z'],
    ['id', 'x'],
    ['prefix', 'x'],
  ])('rotation with %s = %j is rejected by name, and the old key stays valid', async (field, value) => {
    const { key } = await ann.withKey();
    const { id } = (await list(ann.client))[0]!;
    const { status, body } = await ann.client.post(`/user/api-keys/${id}/rotate`, { [field]: value });
    expect([status, body.errors[0].field, await works(key)]).toEqual([400, field, true]);
  });
  test('only the owner lists, rotates or revokes a key, not an admin of the org or a super-admin [AK14, AK16, S9, S56, X11]', async () => {
    const { key } = await ann.withKey();
    const { id } = (await list(ann.client))[0]!;
    await db.sql`insert into memberships (org_id, user_id, role_key) values (${ann.orgId}, ${eve.userId}, 'owner')`;
    await eve.client.post('/user/change-org', { id: ann.orgId });
    expect((await eve.client.get('/user/self')).body.orgId).toBe(ann.orgId);
    expect(await list(eve.client)).toEqual([]);
    const unknown = await eve.client.delete(`/user/api-keys/${newId()}`);
    for (const answer of [
      await eve.client.delete(`/user/api-keys/${id}`),
      await eve.client.post(`/user/api-keys/${id}/rotate`),
    ])
      expect([answer.status, answer.text]).toEqual([404, unknown.text]);
    expect(await works(key)).toBe(true);
    await db.sql`delete from memberships where org_id = ${ann.orgId} and user_id = ${eve.userId}`;
  });
  test('keys of one org are not listed or changed from another org of the same user [AK16, GN2]', async () => {
    const bob = await app.signUp();
    await create(bob.client);
    const { id } = (await list(bob.client))[0]!;
    const { body: org } = await bob.client.post('/orgs', { name: 'Second' });
    expect(await list(bob.client)).toHaveLength(1);
    expect((await bob.client.get('/user/api-keys', { showorg: org.id })).body).toEqual([]);
    expect((await bob.client.delete(`/user/api-keys/${id}`, undefined, { showorg: org.id })).status).toBe(404);
  });
});

describe('rights of a key', () => {
  test('follow the owner within a second: role, disabled, removed, deleted org [AK2, S53, X13]', async () => {
    const bob = await app.signUp();
    const key = await bob.withKey();
    const permissions = async () => {
      const holder = await app.context.auth.apiKeys.authenticate(key.key).catch(() => undefined);
      return holder?.roleKey;
    };
    expect(await permissions()).toBe('owner');
    await db.sql`update memberships set role_key = 'viewer' where user_id = ${bob.userId}`;
    aSecondLater();
    expect(await permissions()).toBe('viewer');
    for (const [off, on] of [
      [
        db.sql`update memberships set disabled = true where user_id = ${bob.userId}`,
        db.sql`update memberships set disabled = false where user_id = ${bob.userId}`,
      ],
      [
        db.sql`update organizations set deleted_at = now() where id = ${bob.orgId}`,
        db.sql`update organizations set deleted_at = null where id = ${bob.orgId}`,
      ],
      [
        db.sql`update users set deleted_at = now() where id = ${bob.userId}`,
        db.sql`update users set deleted_at = null where id = ${bob.userId}`,
      ],
    ] as const) {
      await off;
      aSecondLater();
      expect(await works(key.key)).toBe(false);
      await on;
      aSecondLater();
      expect(await works(key.key)).toBe(true);
    }
    await db.sql`delete from memberships where user_id = ${bob.userId}`;
    aSecondLater();
    expect(await works(key.key)).toBe(false);
  });
  test('end within a second of a revocation in another process that has the key cached [AK10]', async () => {
    const other = await testApp({ sql: db.sql, clock });
    try {
      const { key } = await ann.withKey();
      const there = async () => (await other.client().get('/public/v1/is-connected', { authorization: key })).status;
      expect(await there()).toBe(200);
      await ann.client.delete(`/user/api-keys/${(await list(ann.client))[0]!.id}`);
      aSecondLater();
      expect(await there()).toBe(401);
    } finally {
      await other[Symbol.asyncDispose]();
    }
  });
  test('need no statement on each request, nor do invalid keys', async () => {
    let statements = 0;
    const sql = openDatabase({ url: db.url, connections: 2, onStatement: () => (statements += 1) });
    const frozen = { ...systemClock, monotonic: () => 0 };
    const { identity, email, billing } = app.context;
    const auth = openAuth({
      sql,
      clock: frozen,
      identity,
      billing,
      approvals: { namesOf: async () => [], endAllOf: async () => [] },
      feeds: { namesOf: async () => [], endAllOf: async () => [] },
      spending: { copyDay: async () => undefined },
      email,
      jwtSecret: 'x',
      frontendUrl: '',
      disallowPlus: false,
      refusedPasswords: [],
      tracesDays: 90,
      log: { warn() {} },
      failed: () => {},
    });
    try {
      const { key } = await ann.withKey();
      await auth.apiKeys.authenticate(key);
      const wrong = `pm_live_${'B'.repeat(43)}`;
      await expect(auth.apiKeys.authenticate(wrong)).rejects.toMatchObject({ code: 'invalid_api_key' });
      const before = statements;
      for (let n = 0; n < 100; n += 1) {
        await auth.apiKeys.authenticate(key);
        await auth.apiKeys.authenticate(wrong).catch(() => {});
        await auth.apiKeys.authenticate('pm_live_short').catch(() => {});
      }
      expect(statements).toBe(before);
    } finally {
      await auth[Symbol.asyncDispose]();
      await sql.end();
    }
  });
  test('are those of the role of its owner, without scopes of its own [S59, AK2]', async () => {
    const owner = await app.signUp();
    for (const scopes of [{ scope: 'mcp:read' }, { scopes: ['mcp:read'] }])
      expect((await create(owner.client, { name: 'ci', ...scopes })).body.code).toBe('unknown_field');
    const key = await owner.withKey();
    const writes = async () => (await key.post('/public/v1/posts', {})).body.code;
    expect(await writes()).toBe('validation_failed'); // it came as far as the body
    await db.sql`update memberships set role_key = 'viewer' where user_id = ${owner.userId}`;
    aSecondLater();
    expect(await writes()).toBe('forbidden');
    expect(await works(key.key)).toBe(true);
  });
  test('open no console route, not even the list of keys [S14]', async () => {
    const key = await ann.withKey();
    for (const path of ['/user/api-keys', '/user/self', '/orgs/current', '/user/sessions'])
      expect((await key.get(path)).status).toBe(401);
    expect((await key.post('/user/api-keys', { name: 'more' })).status).toBe(401);
    expect(
      (
        await key.post(
          '/user/api-keys',
          { name: 'more' },
          {
            cookie: [...ann.client.cookies].map(([name, value]) => `${name}=${value}`).join('; '),
            'x-csrf-token': ann.client.csrf,
          },
        )
      ).status,
    ).toBe(401);
  });
});
