import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type Clock, ProviderError, systemClock } from '../../../../src/platform/kernel/index.ts';
import { testDatabase, type TestDatabase } from '../../../support/wire/database.ts';
import { eventually } from '../../../support/wire/eventually.ts';
import { admit, newPost, openNetwork, seedOrg, startPublisher } from '../../../support/worlds/publishing/world.ts';

let db: TestDatabase;
beforeAll(async () => {
  db = await testDatabase();
});
afterAll(async () => db[Symbol.asyncDispose]());

const HOUR = 3_600_000;

test.each([-HOUR, HOUR])(
  'reminders follow the clock of the database where that of a host is wrong by %s ms',
  async (skew) => {
    const clock: Clock = { ...systemClock, now: () => systemClock.in(skew), in: (ms) => systemClock.in(skew + ms) };
    const network = Object.assign(openNetwork(), { settlesWithinMs: 70_000 });
    network.behave = async (post, _sent, accept) => {
      if (post.text === 'lost') throw new ProviderError('lost', 'gone');
      return accept();
    };
    await using world = await startPublisher({ url: db.url, network, clock });
    const { orgId, channelIds } = await seedOrg(db.sql, 2);
    await admit(world, orgId, [
      newPost(channelIds[0]!),
      newPost(channelIds[0]!, { publishDate: systemClock.in(600_000) }),
    ]);
    await admit(world, orgId, [newPost(channelIds[1]!, { content: 'lost' })]);
    const off = async (name: string, due: string) => {
      const [row] = await db.sql<{ ms: number }[]>`
      select abs(extract(epoch from r.due_at - (${db.sql.unsafe(due)}))) * 1000 as ms
      from actor_reminders r
      where r.name = ${name} and r.id like ${`${orgId}%`}`;
      return row?.ms ?? Infinity;
    };
    const next = `select min(due_at) from posts where org_id = '${orgId}' and detail = 'scheduled'`;
    const question = `select look_up_at from posts where org_id = '${orgId}' and detail = 'unconfirmed'`;
    await eventually('the next post is reminded of when it is due', async () => (await off('due', next)) < 5);
    await eventually(
      'the question is asked again when it is due',
      async () => network.looks > 0 && (await off('look-up', question)) < 5,
    );
    expect(network.looks).toBeLessThan(5); // not again and again
  },
);
