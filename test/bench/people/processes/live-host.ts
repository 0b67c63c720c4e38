// A process of the product for the benchmark `live`: the streams of its API, and announcements to all people.
import { openLive } from '../../../../src/people/notifications/index.ts';
import { openDatabase } from '../../../../src/platform/db/index.ts';
import { systemClock } from '../../../../src/platform/kernel/index.ts';
import { testApp } from '../../../support/worlds/app.ts';
import { answering } from '../../kit/answering.ts';
import { usage } from '../../kit/usage.ts';

const { databaseUrl, jwtSecret } = JSON.parse(process.argv[2]!) as { databaseUrl: string; jwtSecret: string };
const sql = openDatabase({ url: databaseUrl });
const { address, context, log } = await testApp({
  sql,
  env: { RATE_LIMIT_SCALE: '1000000', JWT_SECRET: jwtSecret }, // all streams are opened at once
});
/** Has no streams: it announces as whoever wrote rows does, in this process or in another. */
const announcer = openLive({ sql, cache: context.cache, clock: systemClock, log });
const userIds = (await sql<{ id: string }[]>`select id from users`).map(({ id }) => id);

answering({
  port: () => Number(new URL(address).port),
  use: usage,
  /** Says that something is new to everybody; answers when. */
  async announce() {
    const at = Date.now();
    await announcer.announce(userIds);
    return at;
  },
});
