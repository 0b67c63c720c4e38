import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { AnyAdapter } from '../../../src/providers/registry/index.ts';
import { adapters } from '../../../src/providers/registry/registry.gen.ts';
import type { ProviderFixture } from '../../support/peers/suites/provider.ts';
import { REFUSED_ADDRESSES } from '../../support/peers/suites/setting-checks.ts';
import { testDatabase, type TestDatabase } from '../../support/wire/database.ts';
import { type SignedUp, testApp } from '../../support/worlds/app.ts';

// Settings of models and media that name a server: generated from the declarations, with the values of the facts.

const stack = new AsyncDisposableStack();
let db: TestDatabase;
let ann: SignedUp;
beforeAll(async () => {
  db = stack.use(await testDatabase());
  const nothingOpened = { SSRF_ALLOWED_PRIVATE_CIDRS: 'all' }; // is no range
  const app = stack.use(await testApp({ sql: db.sql, env: nothingOpened }));
  ann = await app.signUp();
});
afterAll(() => stack.disposeAsync());

const places = adapters
  .filter(({ domain }) => domain === 'ai' || domain === 'media')
  .flatMap((adapter) =>
    Object.entries(adapter.setup!.fields).flatMap(([field, { form }]): [string, string, AnyAdapter][] =>
      form ? [[`${adapter.domain}/${adapter.id}`, field, adapter]] : [],
    ),
  );

test.each(places)(
  '%s takes in %s no address of any class that is refused: 400 with its place',
  async (_, field, { domain, id }) => {
    const { default: facts } = (await import(`../../fixtures/providers/${domain}/${id}.ts`)) as {
      default: ProviderFixture;
    };
    for (const address of REFUSED_ADDRESSES) {
      const credentials = { ...facts.values, [field]: address };
      const body = { domain, providerId: id, allowPreview: true, credentials };
      const answer = await ann.client.post('/providers/settings', body);
      const fields = answer.body.errors?.map((error: { field: string }) => error.field);
      expect([address, answer.status, fields]).toEqual([address, 400, [`credentials.${field}`]]);
    }
    expect(await db.sql`select 1 from provider_settings`).toEqual([]);
  },
);
