import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { newId } from '../../../src/platform/kernel/index.ts';
import { deleteSetting } from '../../../src/providers/settings/store.ts';
import { testDatabase, type TestDatabase } from '../../support/wire/database.ts';

// Two settings of one provider that are deleted at the same moment: each stands in for the other.

let db: TestDatabase;
beforeAll(async () => {
  db = await testDatabase();
});
afterAll(async () => {
  await db[Symbol.asyncDispose]();
});

async function seedSettings(domain: string, providerId: string) {
  const orgId = newId();
  await db.sql`insert into organizations (id, name, timezone) values (${orgId}, 'Acme', 'UTC')`;
  const ids = [newId(), newId()] as const;
  for (const id of ids)
    await db.sql`
      insert into provider_settings (id, org_id, domain, provider_id, provider_version, name, options, credentials)
      values (${id}, ${orgId}, ${domain}, ${providerId}, 'v1', ${id}, '{}', 'v2:')`;
  return { orgId, ids };
}

describe('deleting the last two settings of a provider at once', () => {
  test.each([
    ['an app that channels use', 'social', 'tumblr', /in use/],
    ['that makes the links of the organization', 'shortlink', 'dub', /default shortener/],
  ])('leaves one %s [S157]', async (_, domain, providerId, message) => {
    const { orgId, ids } = await seedSettings(domain, providerId);
    if (domain === 'social')
      await db.sql`
        insert into channels (id, org_id, provider_id, provider_version, internal_id, name, credentials)
        values (${newId()}, ${orgId}, ${providerId}, 'v1', 'blog', 'Blog', 'v2:')`;
    else
      await db.sql`
        update organizations set settings = jsonb_build_object('defaultShortlinkProviderId', ${providerId}::text)
        where id = ${orgId}`;
    const outcomes: Promise<unknown>[] = [];
    await db.sql.begin(async (tx) => {
      await deleteSetting(tx, orgId, ids[0]);
      const other = db.sql.begin((own) => deleteSetting(own, orgId, ids[1])).catch((error: unknown) => error);
      outcomes.push(other);
      await Promise.race([other, sleep(300)]); // it sees the first one as long as that is not gone for everybody
    });
    expect(await outcomes[0]).toMatchObject({ code: 'conflict', message: expect.stringMatching(message) });
    expect(await db.sql`select id from provider_settings where org_id = ${orgId}`).toEqual([{ id: ids[1] }]);
  });
});
