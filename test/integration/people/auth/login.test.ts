import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { argon2Sync, randomBytes, randomUUID } from 'node:crypto';
import { verifyPassword } from '../../../../src/people/auth/password.ts';
import { newId, systemClock } from '../../../../src/platform/kernel/index.ts';
import { type Client, type SignedUp, testApp, type TestApp, WITH_MAIL } from '../../../support/worlds/app.ts';
import { testDatabase } from '../../../support/wire/database.ts';
import { workOf } from '../../../support/worlds/publishing/work.ts';

let db: Awaited<ReturnType<typeof testDatabase>>;
let app: TestApp;
let ann: SignedUp;
beforeAll(async () => {
  db = await testDatabase();
  app = await testApp({ sql: db.sql });
  ann = await app.signUp();
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
  await db[Symbol.asyncDispose]();
});

const address = () => `${randomUUID()}@example.com`;
const login = (email: string, password = 'correct horse battery', provider = 'local', client: Client = app.client()) =>
  client.post('/auth/login', { provider, email, password });
const phc = (password: string, memory: number, passes: number) => {
  const nonce = randomBytes(16);
  const text = (bytes: Buffer) => bytes.toString('base64').replace(/=+$/, '');
  const tag = argon2Sync('argon2id', { message: password, nonce, parallelism: 1, tagLength: 32, memory, passes });
  return `$argon2id$v=19$m=${memory},t=${passes},p=1$${text(nonce)}$${text(tag)}`;
};

describe('failed logins', () => {
  const failures: [string, () => Promise<Parameters<typeof login>>][] = [
    ['an unknown address', async () => [address()]],
    ['a wrong password', async () => [ann.email, 'wrong password']],
    ['an account that is not activated, with a wrong password', async () => [await inactive(), 'wrong password']],
    ['an address that only another provider knows', async () => [await byProvider()]],
    ['a provider that is another one', async () => [ann.email, 'correct horse battery', 'github']],
    ['a provider that nobody has', async () => [ann.email, 'correct horse battery', 'nobody']],
    ['a member whom every org has disabled, with a wrong password', async () => [await disabled(), 'wrong password']],
    ['a deleted user', async () => [await deleted()]],
    ['no address at all', async () => ['', 'x']],
  ];
  const inactive = async () => {
    const { email, userId } = await app.signUp();
    await db.sql`update users set activated = false where id = ${userId}`;
    return email;
  };
  const byProvider = async () => {
    const email = address();
    await db.sql`
      insert into users (id, email, provider_name, provider_id, activated)
      values (${newId()}, ${email}, 'github', ${newId()}, true)`;
    return email;
  };
  const disabled = async () => {
    const { email, userId } = await app.signUp();
    await db.sql`update memberships set disabled = true where user_id = ${userId}`;
    return email;
  };
  const deleted = async () => {
    const { email, userId } = await app.signUp();
    await db.sql`update users set deleted_at = now() where id = ${userId}`;
    return email;
  };

  test.each(failures)(
    '%s: the same answer after the same work, one hash and one look-up [S32, X15]',
    async (_, make) => {
      const given = await make();
      const { result, hashes, statements } = await workOf(db, () => login(...given));
      expect([result.status, result.text, result.headers.getSetCookie()]).toEqual([
        400,
        (await login(address())).text,
        [],
      ]);
      expect(hashes).toBe(1);
      // the account, and the note for the audit log
      expect(statements).toEqual([expect.stringMatching(/^\s*select/), expect.stringMatching(/^\s*insert/)]);
    },
  );
  test('the right password of an inactive account is reported as such after the same work [S32]', async () => {
    const email = await inactive();
    const { result, hashes, statements } = await workOf(db, () => login(email));
    expect([result.status, result.body.activate, hashes, statements.length]).toEqual([400, true, 1, 2]);
  });
  test('the audit log has the reason that the answer omits, and nothing of the input', async () => {
    const secret = `typed-${randomUUID()}`;
    await login(secret, secret);
    await login(ann.email, secret);
    const notes =
      await db.sql`select action, resource_id, detail, user_id, org_id, ip from audit_log order by id desc limit 2`;
    const common = { action: 'login.refused', user_id: null, org_id: null, ip: '127.0.0.1' };
    expect(notes).toEqual([
      { ...common, resource_id: ann.userId, detail: { reason: 'password' } },
      { ...common, resource_id: null, detail: { reason: 'unknown' } },
    ]);
    const everything =
      await db.sql`select to_jsonb(a)::text as row from audit_log a where to_jsonb(a)::text like ${`%${secret}%`}`;
    expect(everything).toHaveLength(0);
  });
});

describe('limits', () => {
  test('an address has ten attempts a minute, then 429 with Retry-After [S17, S16]', async () => {
    const tight = await testApp({ sql: db.sql, env: { RATE_LIMIT_SCALE: '1' } });
    try {
      const answers = [];
      for (let n = 0; n < 12; n += 1) answers.push(await login(address(), 'x', 'local', tight.client()));
      expect(answers.map(({ status }) => status)).toEqual([...Array.from({ length: 10 }, () => 400), 429, 429]);
      expect(Number(answers.at(-1)!.headers.get('retry-after'))).toBeGreaterThan(0);
    } finally {
      await tight[Symbol.asyncDispose]();
    }
  });
  describe('attempts at an account in a quarter of an hour', () => {
    const RIGHT = 'correct horse battery';
    const attempt = async (place: TestApp, email: string, password: string, ip: string, cookie?: string) => {
      const client = place.client();
      client.headers['x-forwarded-for'] = ip;
      if (cookie !== undefined) client.cookies.set('known_browser', cookie);
      return (await login(email, password, 'local', client)).status;
    };
    /** The cookie of a browser in which this account was logged in. */
    const knownTo = async (email: string) => {
      const client = app.client();
      expect((await login(email, RIGHT, 'local', client)).status).toBe(200);
      return client.cookies.get('known_browser')!;
    };

    test('are limited to ten from one network, known or not; its owner logs in from elsewhere, or in a known browser [S17, X15]', async () => {
      let ahead = 0; // beyond the minute that limits the network alone
      const clock = { ...systemClock, monotonic: () => performance.now() + ahead };
      await using tight = await testApp({ sql: db.sql, clock, env: { RATE_LIMIT_SCALE: '1', TRUST_PROXY_HOPS: '1' } });
      const [bob, eve] = [await app.signUp(), await app.signUp()];
      const [ofBob, ofEve] = [await knownTo(bob.email), await knownTo(eve.email)];
      for (const [email, right] of [
        [bob.email, 200],
        [address(), 400],
      ] as const) {
        const statuses = [];
        for (let n = 0; n < 11; n += 1) {
          if (n === 5 || n === 10) ahead += 61_000;
          const password = n === 10 ? RIGHT : 'wrong';
          // one /64 is one network
          statuses.push(await attempt(tight, n % 2 ? email : email.toUpperCase(), password, `2001:db8::${n}`));
        }
        expect(statuses).toEqual([...Array.from({ length: 10 }, () => 400), 429]);
        expect(await attempt(tight, email, RIGHT, '198.51.100.1')).toBe(right);
        ahead += 61_000;
      }
      expect(await attempt(tight, bob.email, RIGHT, '2001:db8::1', ofBob)).toBe(200);
      const swapped = `${ofBob.slice(0, 22)}${ofEve.slice(22)}`;
      for (const cookie of [ofEve, swapped, 'x'.repeat(65), ofBob.slice(0, -1)])
        expect(await attempt(tight, bob.email, RIGHT, '2001:db8::1', cookie)).toBe(429);
    });
    test('are limited to ten from a known browser', async () => {
      await using tight = await testApp({ sql: db.sql, env: { RATE_LIMIT_SCALE: '1', TRUST_PROXY_HOPS: '1' } });
      const bob = await app.signUp();
      const cookies = [await knownTo(bob.email), await knownTo(bob.email)] as const;
      const statuses = [];
      for (let n = 0; n < 11; n += 1)
        statuses.push(await attempt(tight, bob.email, n === 10 ? RIGHT : 'wrong', `198.51.100.${n}`, cookies[0]));
      expect(statuses).toEqual([...Array.from({ length: 10 }, () => 400), 429]);
      expect(await attempt(tight, bob.email, RIGHT, '198.51.100.99', cookies[1])).toBe(200);
    });
    test('are limited to a hundred from all networks together; a known browser has its own limit [S17, X15]', async () => {
      // ten, and one of each network
      await using tight = await testApp({ sql: db.sql, env: { RATE_LIMIT_SCALE: '0.1', TRUST_PROXY_HOPS: '1' } });
      const bob = await app.signUp();
      const cookie = await knownTo(bob.email);
      for (const email of [bob.email, address()]) {
        const statuses = [];
        const net = email === bob.email ? 0 : 100;
        for (let n = 0; n < 11; n += 1)
          statuses.push(await attempt(tight, email, n === 10 ? RIGHT : 'wrong', `203.0.113.${net + n}`));
        expect(statuses).toEqual([...Array.from({ length: 10 }, () => 400), 429]);
      }
      expect(await attempt(tight, bob.email, RIGHT, '203.0.113.99', cookie)).toBe(200);
    });
    test('beyond the ten of one network do not count against other networks', async () => {
      let ahead = 0;
      const clock = { ...systemClock, monotonic: () => performance.now() + ahead };
      await using tight = await testApp({
        sql: db.sql,
        clock,
        env: { RATE_LIMIT_SCALE: '0.1', TRUST_PROXY_HOPS: '1' },
      });
      const bob = await app.signUp();
      for (let n = 0; n < 12; n += 1) {
        await attempt(tight, bob.email, 'wrong', '203.0.113.1');
        ahead += 61_000;
      }
      expect(await attempt(tight, bob.email, RIGHT, '203.0.113.2')).toBe(200);
    });
  });
});

test('with a letter that the database folds match no account, so a variant spelling adds no attempts [S17, S32]', async () => {
  const bob = await app.signUp({ email: `lili.kiss-${randomUUID()}@example.com` });
  for (const email of [
    bob.email.replaceAll('i', '\u0130'),
    bob.email.replaceAll('i', '\u0131'),
    bob.email.replace('k', '\u212a'),
  ])
    expect([email, (await login(email)).status]).toEqual([email, 400]);
  expect((await login(bob.email.toUpperCase())).status).toBe(200);
});

describe('passwords', () => {
  test('are rehashed at the next login when the cost differs, and stay the same', async () => {
    const bob = await app.signUp();
    for (const old of [phc('correct horse battery', 4_096, 3), phc('correct horse battery', 65_536, 1)]) {
      await db.sql`update users set password_hash = ${old} where id = ${bob.userId}`;
      expect((await login(bob.email, 'wrong')).status).toBe(400);
      expect(await db.sql`select password_hash from users where id = ${bob.userId}`).toEqual([{ password_hash: old }]);
      expect((await login(bob.email)).status).toBe(200);
      const [row] = await db.sql`select password_hash from users where id = ${bob.userId}`;
      expect(row!['password_hash']).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
      const { result, hashes } = await workOf(db, () => login(bob.email));
      expect([result.status, hashes]).toEqual([200, 1]);
    }
  });
  test('are checked up to a bounded queue in a flood of logins; the others are told to retry', async () => {
    const cheap = phc('x', 64, 1);
    /** Ten logins while so many others are hashed or wait for it: who has ended is back before anybody else comes. */
    const amid = async (count: number) => {
      let busy = true;
      const others = Array.from({ length: count }, async () => {
        while (busy) await verifyPassword('x', cheap);
      });
      const answers = await Promise.all(Array.from({ length: 10 }, () => login(address(), 'x')));
      busy = false;
      await Promise.all(others);
      return answers;
    };
    // two at a time, two hundred in wait
    expect((await amid(192)).map(({ status }) => status)).toEqual(Array(10).fill(400));
    for (const { status, body, headers } of await amid(202))
      expect([status, body.code, headers.get('retry-after')]).toEqual([503, 'busy', '1']);
    expect((await login(ann.email)).status).toBe(200);
  });
});

describe('a login', () => {
  test('starts a new session and adopts nothing that the browser sent [S26, S45]', async () => {
    const eve = await app.signUp();
    const client = app.client();
    const planted = {
      auth: eve.client.cookies.get('auth')!,
      refresh: eve.client.cookies.get('refresh')!,
      csrf_token: 'a'.repeat(64),
      showorg: eve.orgId,
    };
    for (const [name, value] of Object.entries(planted)) client.cookies.set(name, value);
    await login(ann.email, undefined, 'local', client);
    for (const name of ['auth', 'refresh', 'csrf_token'] as const)
      expect(client.cookies.get(name)).not.toBe(planted[name]);
    const sid = (token: string) => JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString()).sid;
    expect(sid(client.cookies.get('auth')!)).not.toBe(sid(planted.auth));
    expect((await client.get('/user/self')).body).toMatchObject({ id: ann.userId, orgId: ann.orgId });
    const twice = [await login(ann.email), await login(ann.email)].map(({ headers }) => headers.getSetCookie());
    expect(new Set(twice.flat().map((cookie) => cookie.split(';')[0])).size).toBe(8);
  });
  test('ends the session of the cookie sent with it, of any user, and no other', async () => {
    const [bob, eve] = [await app.signUp(), await app.signUp()];
    const phone = app.client();
    await login(bob.email, undefined, 'local', phone);
    const ended = { auth: bob.client.cookies.get('auth')! };
    const self = (auth: string) => app.client().get('/user/self', { auth });
    expect((await login(bob.email, 'wrong', 'local', bob.client)).status).toBe(400);
    expect((await self(ended.auth)).status).toBe(200); // a login that fails ends nothing
    await login(bob.email, undefined, 'local', bob.client);
    expect((await self(ended.auth)).body.code).toBe('session_revoked');
    expect((await phone.get('/user/self')).status).toBe(200);
    const [note] = await db.sql`
        select resource, detail from audit_log where action = 'session.replaced' and user_id = ${bob.userId}`;
    expect(note).toEqual({ resource: 'session', detail: {} });
    const shared = bob.client.cookies.get('auth')!;
    await login(eve.email, undefined, 'local', bob.client);
    expect((await self(shared)).body.code).toBe('session_revoked');
    expect((await bob.client.get('/user/self')).body.id).toBe(eve.userId);
    const forged = app.client();
    forged.cookies.set('auth', `${eve.client.cookies.get('auth')!.slice(0, -8)}AAAAAAAA`);
    await login(bob.email, undefined, 'local', forged);
    expect((await eve.client.get('/user/self')).status).toBe(200);
  });
  test('is recorded with the session in the same commit', async () => {
    await login(ann.email);
    const [session] = await db.sql`select id from sessions where user_id = ${ann.userId} order by id desc limit 1`;
    const [note] = await db.sql`
        select action, user_id, resource, resource_id, xmin::text as tx from audit_log order by id desc limit 1`;
    expect(note).toMatchObject({
      action: 'session.created',
      user_id: ann.userId,
      resource: 'session',
      resource_id: session!['id'],
    });
    const [row] = await db.sql`select xmin::text as tx from sessions where id = ${session!['id']}`;
    expect(row!['tx']).toBe(note!['tx']);
  });
  test('of an inactive user is refused, as are existing sessions and keys', async () => {
    const bob = await app.signUp();
    const key = await bob.withKey();
    await db.sql`update users set activated = false where id = ${bob.userId}`;
    expect([(await bob.client.get('/user/self')).status, (await key.get('/public/v1/is-connected')).status]).toEqual([
      401, 401,
    ]);
  });
});

describe('with mail configured', () => {
  test('an address registered twice gets the answer of a new one after the same work [S30, X15]', async () => {
    const mailing = await testApp({ sql: db.sql, env: WITH_MAIL });
    try {
      const register = (email: string) =>
        mailing.client().post('/auth/register', { provider: 'LOCAL', email, password: 'long enough', company: 'Acme' });
      const waiting = address();
      await register(waiting);
      const told = [];
      for (const email of [address(), ann.email, ann.email.toUpperCase(), waiting])
        told.push(await workOf(db, () => register(email)));
      const [fresh] = told;
      for (const { result, hashes, statements } of told) {
        expect([result.status, result.text]).toEqual([200, '{"activate":true}']);
        expect(result.headers.getSetCookie()).toEqual([
          expect.stringMatching(/^registration=[A-Za-z0-9_-]{43}; Max-Age=604800;.*; HttpOnly$/),
        ]);
        expect([hashes, statements.length]).toEqual([1, fresh!.statements.length]);
      }
    } finally {
      await mailing[Symbol.asyncDispose]();
    }
  });
  test.each(['/auth/forgot', '/auth/resend-activation'])(
    '%s does the same work for every address, known or not [S34, S35, X15]',
    async (path) => {
      const mailing = await testApp({ sql: db.sql, env: WITH_MAIL });
      try {
        const told = [];
        for (const email of [address(), ann.email, ann.email.toUpperCase()])
          told.push(
            await workOf(db, async () => {
              const answer = await mailing.client().post(path, { email });
              return { answer, before: db.statements.filter((text) => /mail_requests \(/.test(text)).length };
            }),
          );
        for (const { result, hashes } of told)
          expect([result.answer.status, result.answer.text, result.before, hashes]).toEqual([
            200,
            told[0]!.result.answer.text,
            1,
            0,
          ]);
      } finally {
        await mailing[Symbol.asyncDispose]();
      }
    },
  );
});
