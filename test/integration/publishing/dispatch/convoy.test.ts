import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { testDatabase, type TestDatabase } from '../../../support/wire/database.ts';
import { eventually, gate } from '../../../support/wire/eventually.ts';
import {
  admit,
  newPost,
  openNetwork,
  seedOrg,
  settled,
  startPublisher,
  stateOf,
} from '../../../support/worlds/publishing/world.ts';

// Posts of many organizations share statements: what is the matter with one of them is no matter of the others.

let db: TestDatabase;
beforeAll(async () => {
  db = await testDatabase();
});
afterAll(async () => db[Symbol.asyncDispose]());

test('a locked row of one organization blocks no create, claim, send or settle of another', async () => {
  const network = openNetwork();
  await using world = await startPublisher({ url: db.url, network });
  const [locked, sending, ...others] = await Promise.all(Array.from({ length: 6 }, () => seedOrg(db.sql)));
  const answer = gate();
  network.behave = async (post, _sent, accept) => {
    if (post.text === 'under way') await answer.passed;
    return accept();
  };
  const underWay = newPost(sending!.channelId, { content: 'under way' });
  await admit(world, sending!.orgId, [underWay]);
  await eventually('it is under way', () => network.asked.length === 1);
  const end = gate();
  const begun = gate();
  const holding = db.sql.begin(async (tx) => {
    await tx`
      select from channels where id in ${tx([locked!.channelId, sending!.channelId])} order by id for no key update`;
    begun.open();
    await end.passed;
  });
  await begun.passed;
  const waits = admit(world, locked!.orgId, [newPost(locked!.channelId)]);
  answer.open(); // its result cannot be written now
  for (const { orgId, channelId } of others) {
    await admit(world, orgId, [newPost(channelId)]);
    await settled(db.sql, orgId);
  }
  expect(await stateOf(db.sql, underWay.id)).toMatchObject({ state: 'QUEUE', detail: 'publishing' });
  end.open();
  await holding;
  await waits;
  await settled(db.sql, locked!.orgId);
  await settled(db.sql, sending!.orgId);
  expect(network.mostAtOnce).toBe(1);
});

test('many large concurrent creates are stored and do not delay a small one of another organization', async () => {
  const network = openNetwork();
  await using world = await startPublisher({ url: db.url, network });
  const many = await Promise.all(Array.from({ length: 40 }, () => seedOrg(db.sql)));
  const small = await seedOrg(db.sql);
  const text = 'x'.repeat(95_000);
  const sizes: number[] = [];
  const { stringify } = JSON;
  JSON.stringify = ((...call: Parameters<typeof stringify>) => {
    const json = stringify(...call) as string | undefined;
    sizes.push(json?.length ?? 0);
    return json;
  }) as typeof stringify;
  try {
    const large = many.map(({ orgId, channelId }) =>
      admit(
        world,
        orgId,
        Array.from({ length: 10 }, () => newPost(channelId, { state: 'DRAFT', content: text })),
      ),
    );
    await admit(world, small.orgId, [newPost(small.channelId, { state: 'DRAFT' })]);
    await Promise.all(large);
  } finally {
    JSON.stringify = stringify;
  }
  expect(Math.max(...sizes)).toBeLessThan(12_000_000);
  const [row] = await db.sql<{ n: number }[]>`select count(*)::int as n from posts where state = 'DRAFT'`;
  expect(row!.n).toBe(40 * 10 + 1);
});
