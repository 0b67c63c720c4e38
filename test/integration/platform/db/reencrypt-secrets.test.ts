import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { reencrypt } from '../../../../src/operations/cli/reencrypt.ts';
import { claimRenewal, saveRenewal, sealedOf } from '../../../../src/publishing/channels/login-store.ts';
import { SEALED } from '../../../../src/platform/db/index.ts';
import { deriveSecrets } from '../../../../src/platform/config/secrets.ts';
import { newId, openVault, systemClock } from '../../../../src/platform/kernel/index.ts';
import { emptyTables, testDatabase } from '../../../support/wire/database.ts';
import { seedOrg } from '../../../support/worlds/publishing/world.ts';

const db = await testDatabase();
afterAll(async () => db[Symbol.asyncDispose]());
const { sql } = db;
const keys = { before: randomBytes(32), now: randomBytes(32) };
const before = openVault(keys.before);
/** What each process of the service has while the key is being changed. */
const both = openVault(keys.now, [keys.before]);
/** What is left when the former key is forgotten. */
const after = openVault(keys.now);

let orgId: string;
const expected = new Map<string, string>();
beforeEach(async () => {
  await emptyTables(sql, 'organizations', 'provider_apps', 'login_states');
  ({ orgId } = await seedOrg(sql, 0));
  expected.clear();
});
async function addChannels(count: number) {
  const rows = Array.from({ length: count }, () => ({ id: newId(), plain: randomBytes(20).toString('hex') }));
  for (const { id, plain } of rows) expected.set(id, plain);
  await sql`
    insert into channels (id, org_id, provider_id, provider_version, internal_id, name, credentials)
    select id, ${orgId}, 'fake', 'v1', id::text, 'Channel', sealed
    from unnest(${rows.map(({ id }) => id)}::uuid[],
      ${rows.map(({ plain }) => before.seal(plain))}::text[]) as given (id, sealed)`;
  return rows.map(({ id }) => id);
}
const run = (more: Partial<Parameters<typeof reencrypt>[0]> = {}) => {
  const said: string[] = [];
  return reencrypt({
    sql,
    vault: both,
    clock: systemClock,
    say: (line) => said.push(line),
    patienceMs: 0,
    ...more,
  }).then((code) => ({ code, said }));
};
const readable = async () =>
  new Map(
    (await sql<{ id: string; c: string }[]>`select id, credentials as c from channels`).map(({ id, c }) => [
      id,
      after.open(c),
    ]),
  );

describe('re-encryption after a change of the key', () => {
  test('every sealed column is sealed under the new key, and the former key is no longer needed [SC8]', async () => {
    const [id] = await addChannels(1);
    const userId = newId();
    await sql`
      insert into users (id, email, provider_name, provider_id)
      values (${userId}, ${`${userId}@example.com`}, 'local', ${userId})`;
    await sql`
      insert into provider_apps (domain, provider_id, provider_version, server, redirect_uri, client_id, client_secret)
      values ('social', 'mastodon', 'v1', 'https://a.example', 'https://b.example', 'id', ${before.seal('app')})`;
    await sql`
      insert into connect_states (state_hash, org_id, user_id, provider_id, provider_version, sealed, expires_at)
      values (${randomBytes(32)}, ${orgId}, ${userId}, 'mastodon', 'v1', ${before.seal('state')},
        now() + interval '1 hour')`;
    await sql`insert into memberships (org_id, user_id, role_key) values (${orgId}, ${userId}, 'owner')`;
    await sql`
      insert into channel_choices (id, org_id, user_id, provider_id, provider_version, credentials, expires_at)
      values (${newId()}, ${orgId}, ${userId}, 'gmb', 'v1', ${before.seal('{}')}, now() + interval '1 day')`;
    await sql`
      insert into webhooks (id, org_id, name, url, secret, previous_secret, older_secret)
      values (${newId()}, ${orgId}, 'w', 'https://c.example', ${before.seal('one')}, ${before.seal('two')},
        ${before.seal('three')})`;
    await sql`
      insert into emails (id, org_id, to_address, template, content, provider_id, provider_version)
      values (${newId()}, ${orgId}, 'a@b.example', 't', ${before.seal('{}')}, 'smtp', 'v1')`;
    await sql`
      insert into provider_settings (id, domain, provider_id, provider_version, name, credentials)
      values (${newId()}, 'auth', 'github', 'v1', 'GitHub', ${before.seal('{}')})`;
    await sql`insert into login_states (hash, kind, browser_hash, provider_id, sealed, expires_at)
      values (${randomBytes(32)}, 'consent', ${randomBytes(32)}, 'github', ${before.seal('{}')},
        now() + interval '1 hour')`;
    await sql`
      insert into webhooks (id, org_id, name, url) values (${newId()}, ${orgId}, 'without', 'https://c.example')`;
    for (const [key, reply] of [
      ['sealed', before.seal('{"secret":"x"}')],
      ['plain', '{"ok":true}'],
    ] as const)
      await sql`insert into idempotency_keys (org_id, scope, key, body_hash, claim, claimed_until, status, reply)
        values (${orgId}, 'POST /x', ${key}, ${randomBytes(32)}, ${newId()}, now(), 200, ${reply})`;

    const { code, said } = await run();
    expect([code, said.at(-1)]).toEqual([0, expect.stringContaining('ENCRYPTION_KEY_PREVIOUS can be removed')]);
    for (const { table, column } of SEALED) {
      const rows = await sql<
        { sealed: string }[]
      >`select ${sql(column)} as sealed from ${sql(table)} where ${sql(column)} like 'v2:%'`;
      expect([table, column, rows.length]).toEqual([table, column, 1]);
      expect(() => after.open(rows[0]!.sealed)).not.toThrow();
    }
    expect((await readable()).get(id!)).toBe(expected.get(id!));
    expect((await sql`select reply from idempotency_keys where key = 'plain'`)[0]!['reply']).toBe('{"ok":true}');
  });

  test('a second run finds nothing to do, and an interrupted one continues', async () => {
    await addChannels(450);
    let renewed = 0;
    const renew = (sealed: string) => {
      const anew = renewed < 210 ? both.renew(sealed) : undefined; // it stops within its second page
      if (anew !== undefined) renewed += 1;
      return anew;
    };
    await run({ vault: { ...both, renew } });
    const half = [...(await sql<{ c: string }[]>`select credentials as c from channels`)].filter(
      ({ c }) => both.renew(c) === undefined,
    ).length;
    expect(half).toBe(210);
    expect((await run()).said).toContain('channels.credentials: 240 sealed anew');
    expect((await run()).said).toContain('channels.credentials: 0 sealed anew');
    expect(await readable()).toEqual(expected);
  });

  test('values that no key opens are counted, left unchanged, and fail the run', async () => {
    await addChannels(2);
    const foreign = openVault(randomBytes(32)).seal('foreign');
    const [one] = expected.keys();
    await sql`update channels set credentials = ${foreign} where id = ${one!}`;
    const { code, said } = await run();
    expect([code, said]).toEqual([
      1,
      expect.arrayContaining(['channels.credentials: 1 sealed anew, 1 open by no key']),
    ]);
    expect((await sql`select credentials from channels where id = ${one!}`)[0]!['credentials']).toBe(foreign);
  });

  test('a row with a token renewal under way is skipped until it is written, and sealed by the next run', async () => {
    const [id] = (await addChannels(3)) as [string];
    const { credentials: seen } = (await sealedOf(sql, orgId, id))!;
    expect(await claimRenewal(sql, orgId, id, seen, newId(), 600_000)).toBe(true);
    const held = await run();
    expect([held.code, held.said]).toEqual([
      1,
      expect.arrayContaining(['channels.credentials: 2 sealed anew, 1 left']),
    ]);
    // by a process that does not know the new key yet
    expect(await saveRenewal(sql, orgId, id, seen, { credentials: before.seal('renewed'), tokenExpiresAt: null })).toBe(
      true,
    );
    expect((await run()).code).toBe(0);
    expect((await readable()).get(id)).toBe('renewed');
  });

  test('concurrent writers lose nothing, neither the rows they write nor those they leave', async () => {
    const ids = await addChannels(1_500);
    let writing = true;
    let written = 0;
    let refused = 0;
    const writer = async (n: number) => {
      const vault = n % 2 ? both : openVault(keys.before, [keys.now]); // half of the processes were not restarted yet
      for (let turn = 0; writing; turn += 1) {
        const id = ids[(turn * 7 + n * 211) % ids.length]!;
        const row = (await sealedOf(sql, orgId, id))!;
        if (!(await claimRenewal(sql, orgId, id, row.credentials, newId(), 60_000))) {
          refused += 1;
          continue;
        }
        expect(vault.open(row.credentials)).toBe(expected.get(id));
        const plain = `${id} ${turn}`;
        expect(
          await saveRenewal(sql, orgId, id, row.credentials, { credentials: vault.seal(plain), tokenExpiresAt: null }),
        ).toBe(true);
        expected.set(id, plain);
        written += 1;
      }
    };
    const writers = Promise.all([0, 1, 2, 3].map(writer));
    do
      await Promise.race([run(), writers]); // cannot finish while the former key is in use
    while (
      // or it would not have been beside it, or would have kept them from their work
      written <= 50 ||
      refused >= written
    );
    writing = false;
    await writers;
    expect((await run({ patienceMs: 5_000 })).code).toBe(0);
    expect(await readable()).toEqual(expected);
  });

  test('the command re-encrypts from JWT_SECRET where it stood in for the key', async () => {
    const jwt = randomBytes(32).toString('hex'); // looks like a key and was none: it was hashed
    const former = openVault(
      deriveSecrets({ jwt, key: undefined, previous: undefined, webhookSigning: undefined, production: true })
        .encryptionKey,
    );
    await addChannels(1);
    const [id] = expected.keys();
    await sql`update channels set credentials = ${former.seal('by the JWT secret')} where id = ${id!}`;
    const env = {
      PATH: process.env['PATH']!,
      DATABASE_URL: db.url,
      JWT_SECRET: jwt,
      ENCRYPTION_KEY: keys.now.toString('base64'),
    }; // oxlint-disable-line node/no-process-env -- to find node
    const command = (more: Record<string, string>) =>
      spawnSync(process.execPath, ['--no-warnings', 'rookery.ts', 'reencrypt'], {
        env: { ...env, ...more },
        encoding: 'utf8',
      });
    const without = command({});
    expect([without.status, without.stdout]).toEqual([1, expect.stringContaining('1 open by no key')]);
    const done = command({ ENCRYPTION_KEY_PREVIOUS: jwt });
    expect([done.status, done.stdout]).toEqual([0, expect.stringContaining('channels.credentials: 1 sealed anew')]);
    expect((await readable()).get(id!)).toBe('by the JWT secret');
    for (const text of [done.stdout, done.stderr, without.stdout]) expect(text).not.toContain(jwt);
  }, 300_000); // two starts of the command, each of which reads all of the service
});

test('each column that a migration declares sealed is in the list, and no other except kept replies', () => {
  const folder = new URL('../../../../src/platform/db/migrations/', import.meta.url);
  const called: string[] = [];
  for (const file of readdirSync(folder).filter((name) => name.endsWith('.sql'))) {
    let table = '';
    for (const line of readFileSync(new URL(file, folder), 'utf8').split('\n')) {
      table = /^(?:create|alter) table (?:if not exists )?(\w+)/.exec(line)?.[1] ?? table;
      const column = /^\s*(?:alter table \w+ )?(?:add column )?(?:if not exists )?(\w+) .*--.*\bsealed\b/.exec(
        line,
      )?.[1];
      if (column) called.push(`${table}.${column}`);
      const [, of, was, is] = /^alter table (\w+) rename column (\w+) to (\w+)/.exec(line) ?? [];
      const renamed = called.indexOf(`${of}.${was}`);
      if (renamed >= 0) called[renamed] = `${of}.${is}`;
    }
  }
  expect(called.toSorted()).toEqual(
    SEALED.map(({ table, column }) => `${table}.${column}`)
      .filter((name) => name !== 'idempotency_keys.reply')
      .toSorted(),
  );
});
