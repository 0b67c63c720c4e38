import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { openAuth } from '../../../src/people/auth/index.ts';
import { openDatabase } from '../../../src/platform/db/index.ts';
import { type Clock, newId, sha256, systemClock } from '../../../src/platform/kernel/index.ts';
import { type Client, type SignedUp, testApp, type TestApp } from '../../support/worlds/app.ts';
import { testDatabase } from '../../support/wire/database.ts';
import { eventually } from '../../support/wire/eventually.ts';

let ahead = 0;
let wall = 0;
/** Runs as always, and can be put forward. */
const clock: Clock = {
  ...systemClock,
  monotonic: () => systemClock.monotonic() + ahead,
  now: () => systemClock.in(wall),
};
/** What is known of keys may be a second old: from here on it is not older than this. */
const aSecondLater = () => void (ahead += 1_000);

let db: Awaited<ReturnType<typeof testDatabase>>;
let app: TestApp;
let ann: SignedUp;
let eve: SignedUp;
beforeAll(async () => {
  db = await testDatabase();
  app = await testApp({ sql: db.sql, clock });
  await app.signUp();
  ann = await app.signUp();
  eve = await app.signUp();
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
  await db[Symbol.asyncDispose]();
});

const hour = 3_600_000;
const later = (ms: number) => new Date(new Date().getTime() + ms).toISOString();
const create = (client: Client, body: unknown = { name: 'ci' }) => client.post('/user/api-keys', body);
const list = async (client: Client) =>
  (await client.get('/user/api-keys')).body as {
    id: string;
    name: string;
    prefix: string;
    expiresAt: string | null;
    revokedAt: string | null;
    lastUsedAt: string | null;
    createdAt: string;
  }[];
const works = async (key: string) =>
  (await app.client().get('/public/v1/is-connected', { authorization: key })).status === 200;

describe('a key', () => {
  test('has its exact form, is shown once and is stored only as a hash [AK3, AK4, AK5, AK6, AK17, S55, X10, X19]', async () => {
    const { status, body, headers } = await create(ann.client, { name: ' Build\u0065\u0301 ' });
    expect([status, headers.get('cache-control')]).toEqual([201, 'no-store']);
    expect(body).toEqual({
      plaintext: expect.stringMatching(/^pm_live_[0-9A-Za-z]{43}$/),
      prefix: body.plaintext.slice(0, 12),
      name: 'Buildé'.normalize('NFC'),
    });
    expect(body.prefix).toMatch(/^pm_live_[0-9A-Za-z]{4}$/);
    const [row] = await db.sql`select * from api_keys where prefix = ${body.prefix}`;
    expect(row).toMatchObject({ org_id: ann.orgId, user_id: ann.userId, key_hash: sha256(body.plaintext) });
    expect(JSON.stringify(row)).not.toContain(body.plaintext);
    const { text } = await ann.client.get('/user/api-keys');
    expect(text).not.toContain(body.plaintext);
    expect(text).not.toContain(sha256(body.plaintext).toString('hex'));
  });
  test('is listed with exactly these fields, newest first [AK7, AK15, AK16, S57]', async () => {
    await create(ann.client, { name: 'older' });
    await create(ann.client, { name: 'newer', expiresAt: later(hour) });
    const keys = await list(ann.client);
    expect(keys.slice(0, 2).map(({ name }) => name)).toEqual(['newer', 'older']);
    expect(keys[0]).toEqual({
      id: expect.any(String),
      name: 'newer',
      prefix: expect.any(String),
      expiresAt: expect.stringMatching(/\.\d{3}Z$/),
      revokedAt: null,
      lastUsedAt: null,
      createdAt: expect.stringMatching(/\.\d{3}Z$/),
    });
  });
  test('is accepted raw, after Bearer in any case and with an api prefix, not in the query [AU7, S13, T1]', async () => {
    const { key } = await ann.withKey();
    for (const authorization of [key, `Bearer ${key}`, `bearer ${key}`, `BEARER   ${key}`]) {
      const { status, body } = await app.client().get('/api/public/v1/is-connected/', { authorization });
      expect([status, body]).toEqual([200, { connected: true }]);
    }
    expect((await app.client().get(`/public/v1/is-connected?apiKey=${key}`)).status).toBe(401);
    expect((await app.client().get('/public/v1/is-connected', { 'x-api-key': key })).status).toBe(401);
    expect((await app.client().get('/public/v1/is-connected', { auth: key })).status).toBe(401);
  });
  test('resolves to its user and org, whatever `showorg` says, without a subscription [AK1, AU9, AU11, S45]', async () => {
    const key = await ann.withKey();
    await key.get('/public/v1/is-connected', { showorg: eve.orgId, cookie: `showorg=${eve.orgId}` });
    expect(app.answered.at(-1)).toMatchObject({ status: 200, orgId: ann.orgId, userId: ann.userId });
  });
  test('answers 401 with the texts that clients match when missing, malformed, unknown, revoked or expired [S12, T19]', async () => {
    const { key } = await ann.withKey();
    const ask = (authorization?: string) => app.client().get('/public/v1/is-connected', { authorization });
    expect((await ask()).body).toMatchObject({
      statusCode: 401,
      msg: 'No API Key found',
      code: 'unauthenticated',
      errors: [
        {
          field: 'Authorization',
          message: expect.stringContaining('send an API key or an access token in this header'),
          rule: 'required',
        },
      ],
    });
    const tail = key.slice(8);
    for (const odd of [
      `pm_live_${'A'.repeat(43)}`,
      `pm_live_${tail}x`,
      `pm_live_${tail.slice(1)}`,
      `pm_test_${tail}`,
      `PM_LIVE_${tail}`,
      `pm_live_${tail.slice(0, 42)}-`,
      tail,
      'x',
      `Basic ${key}`,
      `${key} ${key}`,
      `${key}, ${key}`,
      `Token ${key}`,
      "pm_live_' or 1=1 --",
      ann.client.cookies.get('auth')!,
    ])
      expect((await ask(odd)).body).toEqual({
        statusCode: 401,
        error: 'Unauthorized',
        message: 'Invalid API key',
        msg: 'Invalid API key',
        code: 'invalid_api_key',
        errors: [
          {
            field: 'Authorization',
            message: 'Authorization: send a key that is neither revoked nor expired, raw or as `Bearer <key>`',
            rule: 'invalid_value',
          },
        ],
      });
    for (const empty of ['', 'Bearer', 'Bearer  ']) expect((await ask(empty)).status).toBe(401);
    expect((await ask('pos_abc')).body).toMatchObject({
      statusCode: 401,
      msg: 'Invalid OAuth token',
      code: 'invalid_token',
    });
    expect((await ask('Bearer pos_abc')).body.msg).toBe('Invalid OAuth token');
  });
  test('records its last use to the minute, with one write for many uses [AK9, S57]', async () => {
    const before = (await list(ann.client))[0]!;
    const { key } = await ann.withKey();
    expect((await list(ann.client))[0]).toMatchObject({ lastUsedAt: null });
    await Promise.all(Array.from({ length: 20 }, () => works(key)));
    const used = (await list(ann.client))[0]!;
    expect(new Date().getTime() - new Date(used.lastUsedAt!).getTime()).toBeLessThan(60_000);
    expect((await list(ann.client))[1]).toEqual(before);
  });
  test('is invalid from its expiry on [AK13]', async () => {
    const { body } = await create(ann.client, { name: 'short', expiresAt: later(hour) });
    expect(await works(body.plaintext)).toBe(true);
    await db.sql`
      update api_keys
      set expires_at = now() + interval '10 minutes'
      where prefix = ${body.prefix}`; // known as living for an hour
    aSecondLater();
    expect(await works(body.plaintext)).toBe(true);
    wall = 600_000;
    try {
      expect(await works(body.plaintext)).toBe(false);
    } finally {
      wall = 0;
    }
  });
});

describe('the audit log', () => {
  test('has an entry for each creation, rotation and end of a key in the same commit, and never the key [AK6, X19]', async () => {
    const bob = await app.signUp();
    const { body: made } = await create(bob.client, { name: 'deploy' });
    const first = (await list(bob.client))[0]!.id;
    const { body: rotated } = await bob.client.post(`/user/api-keys/${first}/rotate`);
    const second = (await list(bob.client))[0]!.id;
    await bob.client.delete(`/user/api-keys/${second}`);
    await bob.client.delete(`/user/api-keys/${second}`); // is done already: no second note
    const notes = await db.sql`
      select action, user_id, ip, resource, resource_id, detail
      from audit_log
      where org_id = ${bob.orgId} and resource = 'api_keys'
      order by id`;
    const common = { user_id: bob.userId, ip: '127.0.0.1', resource: 'api_keys' };
    expect(notes).toEqual([
      {
        ...common,
        action: 'api_key.created',
        resource_id: first,
        detail: { name: 'deploy', prefix: made.prefix, expiresAt: null },
      },
      {
        ...common,
        action: 'api_key.rotated',
        resource_id: first,
        detail: { name: 'deploy', prefix: rotated.prefix, newId: second },
      },
      {
        ...common,
        action: 'api_key.revoked',
        resource_id: second,
        detail: { name: 'deploy', prefix: rotated.prefix, userId: bob.userId },
      },
    ]);
    const [row] = await db.sql`
      select k.xmin::text = a.xmin::text as together
      from api_keys k
      join audit_log a on a.resource_id = k.id::text and a.action = 'api_key.revoked'
      where k.id = ${second}`;
    expect(row).toEqual({ together: true });
    const text = JSON.stringify(await db.sql`select to_jsonb(a)::text as row from audit_log a`);
    for (const key of [made.plaintext, rotated.plaintext]) expect(text).not.toContain(key.slice(12));
  });
});

describe('keys of other members', () => {
  test('are listed with their owners and revoked by permitted members; plain members cannot [S51, AK14]', async () => {
    const [owner, bob] = [await app.signUp(), await app.signUp()];
    const own = await owner.withKey();
    await db.sql`insert into memberships (org_id, user_id, role_key) values (${owner.orgId}, ${bob.userId}, 'editor')`;
    const { body: made } = await bob.client.post('/user/api-keys', { name: 'of Bob' }, { showorg: owner.orgId });
    const { status, body, text } = await owner.client.get('/members/api-keys');
    expect(status).toBe(200);
    expect(body).toHaveLength(2);
    expect(body[0]).toEqual({
      id: expect.any(String),
      name: 'of Bob',
      prefix: made.prefix,
      expiresAt: null,
      revokedAt: null,
      lastUsedAt: null,
      createdAt: expect.stringMatching(/Z$/),
      user: { id: bob.userId, email: bob.email, name: '' },
    });
    expect(text).not.toContain(sha256(made.plaintext).toString('hex'));
    const [{ id }, mine] = body;
    for (const answer of [
      await bob.client.get('/members/api-keys', { showorg: owner.orgId }),
      await bob.client.delete(`/members/api-keys/${mine.id}`, {}, { showorg: owner.orgId }),
    ])
      expect([answer.status, answer.body.code]).toEqual([403, 'forbidden']);
    expect(await works(made.plaintext)).toBe(true);
    expect((await owner.client.delete(`/members/api-keys/${id}`)).body).toEqual({ success: true });
    expect([await works(made.plaintext), await works(own.key)]).toEqual([false, true]);
    const [note] = await db.sql`
        select user_id, resource_id, detail
        from audit_log
        where org_id = ${owner.orgId} and action = 'api_key.revoked'`;
    expect(note).toEqual({
      user_id: owner.userId,
      resource_id: id,
      detail: { name: 'of Bob', prefix: made.prefix, userId: bob.userId },
    });
    expect((await owner.client.delete(`/members/api-keys/${id}`)).body).toEqual({ success: true });
    expect((await eve.client.delete(`/members/api-keys/${id}`)).text).toBe(
      (await eve.client.delete(`/members/api-keys/${newId()}`)).text,
    );
  });
});

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
      const waits = async () =>
        (
          await db.sql`
            select 1
            from pg_stat_activity
            where datname = current_database() and wait_event_type = 'Lock' and query like '%for update of m%'`
        ).length > 0;
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
      email,
      jwtSecret: 'x',
      frontendUrl: '',
      disallowPlus: false,
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
