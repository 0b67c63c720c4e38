import { expect, test } from '@jest/globals';
import type { Database } from '../../src/platform/db/index.ts';
import { type AskingClients, startAsking } from '../support/processes/asking.ts';
import { chance, isFull, note, rounds } from '../support/processes/chaos.ts';
import { engines, type Service } from '../support/processes/service.ts';
import { acceptedCount, comes } from '../support/processes/wave.ts';
import { startThirdParties } from '../support/processes/third-parties/start.ts';
import { brokenBy, type Wave, wholeOf } from '../support/processes/wave-fault.ts';
import { testDatabase } from '../support/wire/database.ts';

// F14: each actor host and each process of the API ends in order and is started again, one after another, in the middle
// of a wave, while clients go on asking. The embedded engine is one process: between its end and its start nobody
// answers.

const HOSTS = isFull ? 4 : 2;
const APIS = 2;
const REPLACED_MS = 6_000;
const OVER_MS = (HOSTS + APIS) * REPLACED_MS;
const POSTS = isFull ? 2_000 : 200;
/** Posts fall due before the first end, in each replacement, and after the last one. */
const WAVE: Wave = { posts: POSTS, overMs: OVER_MS, before: POSTS / 10, later: POSTS / 4, laterMs: OVER_MS + 1_000 };
/** Posts that are out before anything is replaced, to compare with. */
const CALM = POSTS / 5;
const CLIENTS = 4;
/** Requests while one of them is gone, and as many while its successor starts. */
const EACH = isFull ? 200 : 20;
/** Of the requests that were repeated once. */
const FAILED_AT_MOST = isFull ? 1 / 1_000 : 0;
const random = chance('f14');
const { missing, start } = engines.find(({ name }) => name === 'dapr')!;

/** How late the network got posts that were due between two moments, with the time that it took over them. */
async function latenessOf(sql: Database, from: Date, to: Date): Promise<number | null> {
  const [row] = await sql<{ p99Ms: number | null }[]>`
    select percentile_disc(0.99) within group (
      order by extract(epoch from l.at - p.publish_date) * 1000
    )::int as "p99Ms"
    from sandbox_ledger l
    join posts p on p.id::text = l.idempotency_key
    where l.accepted
      and l.step = 'publish'
      and p.publish_date >= ${from}::timestamptz
      and p.publish_date < ${to}::timestamptz`;
  return row!.p99Ms;
}
const instant = async (sql: Database) => (await sql<{ at: Date }[]>`select clock_timestamp() as at`)[0]!.at;

/** Replaces each process while clients ask. Answers how many requests were made meanwhile, for each of them. */
async function replaceEach(service: Service, clients: AskingClients): Promise<number[]> {
  const members = [
    ...Array.from(service.hosts.keys(), (n) => ({ end: () => service.end(n), start: () => service.restart(n) })),
    ...Array.from({ length: service.apis! }, (_, n) => ({
      end: () => service.endApi!(n),
      start: () => service.restartApi!(n),
    })),
  ];
  const asked: number[] = [];
  for (const member of members) {
    const before = clients.counts.asked;
    const [{ signal }] = await Promise.all([member.end(), clients.asked(EACH)]);
    expect(signal).toBeNull(); // it has drained by itself
    await Promise.all([member.start(), clients.asked(EACH)]);
    asked.push(clients.counts.asked - before);
  }
  return asked;
}

(missing === undefined ? test : test.skip).each(rounds(1))(
  `round $round of $of: hosts and API are replaced one after another: whoever asks, and once more, is answered, and every post is out once [I1, I2, I3, I4, I5, I6, I7, I8, I9, I10, I11, I12, R1, R2, R4, R13]${missing ? ` [skipped: ${missing}]` : ''}`,
  async ({ round }) => {
    await using database = await testDatabase();
    const { sql } = database;
    await using thirdParties = await startThirdParties();
    await using service = await start({
      database,
      hosts: HOSTS,
      apis: APIS,
      env: { ...thirdParties.env, SHUTDOWN_DELAY_SECONDS: '1' }, // a balancer needs some time, as in production
    });
    let asked: number[] = [];
    let missed: readonly string[] = [];
    let failures: readonly string[] = [];
    let counts = { asked: 0, repeated: 0, failed: 0 };
    const spans: Date[] = [];
    const outcome = await brokenBy({
      service,
      sql,
      random,
      wave: WAVE,
      thirdParties,
      async breaks() {
        const clients = await startAsking(service.url, sql, CLIENTS, thirdParties.codeTo);
        expect(await comes(async () => (await acceptedCount(sql)) >= CALM, 120_000)).toBe(true);
        spans.push(await instant(sql));
        asked = await replaceEach(service, clients);
        spans.push(await instant(sql));
        missed = await clients.end();
        ({ counts, failures } = clients);
      },
    });
    const [from, to] = spans as [Date, Date];
    note({
      round,
      ...counts,
      calmP99Ms: await latenessOf(sql, new Date(0), from),
      restartsP99Ms: await latenessOf(sql, from, to),
      replacedMs: to.getTime() - from.getTime(),
      askedInEach: asked,
      failures,
    });
    expect(outcome).toEqual(wholeOf(WAVE));
    expect(missed).toEqual([]);
    expect(asked.filter((count) => count < 2 * EACH)).toEqual([]);
    expect(failures.slice(Math.floor(counts.asked * FAILED_AT_MOST))).toEqual([]);
  },
  600_000,
);
