import { afterAll, describe, expect, test } from '@jest/globals';
import { newId, sha256 } from '../../../../src/platform/kernel/index.ts';
import { create, list, openKeys } from '../../../support/worlds/keys.ts';

const world = await openKeys();
afterAll(() => world[Symbol.asyncDispose]());
const { db, app, ann, eve, aSecondLater, setWall, works } = world;
const hour = 3_600_000;
const later = (ms: number) => new Date(new Date().getTime() + ms).toISOString();

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
  test('takes the dates of ISO 8601 that posts take as its expiry, up to the year 9000 [S55, AK7]', async () => {
    const expiryOf = async (expiresAt: string) => {
      expect([expiresAt, (await create(ann.client, { name: 'dated', expiresAt })).status]).toEqual([expiresAt, 201]);
      return (await list(ann.client))[0]!.expiresAt;
    };
    expect(await expiryOf('2100-01-31T18:00:00')).toBe('2100-01-31T18:00:00.000Z');
    expect(await expiryOf('2100-01-31')).toBe('2100-01-31T00:00:00.000Z');
    expect(await expiryOf('2100-01-31T18:00:00+02:00')).toBe('2100-01-31T16:00:00.000Z');
    for (const expiresAt of ['9999-12-31T23:59:59-01:00', '9001-01-01', '2100-02-30', 'tomorrow']) {
      const { status, body } = await create(ann.client, { name: 'dated', expiresAt });
      expect([expiresAt, status, body.errors?.[0]?.field]).toEqual([expiresAt, 400, 'expiresAt']);
    }
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
    setWall(600_000);
    try {
      expect(await works(body.plaintext)).toBe(false);
    } finally {
      setWall(0);
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
