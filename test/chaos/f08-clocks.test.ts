import { describe, expect, test } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Clock, newId, systemClock } from '../../src/platform/kernel/index.ts';
import { openDatabase } from '../../src/platform/db/index.ts';
import { isFull, note, rounds } from '../support/processes/chaos.ts';
import { API_TOKEN, APP_TOKEN, startDaprHost } from '../support/processes/dapr-engine.ts';
import { startDapr } from '../support/processes/dapr-harness.ts';
import { describeDapr } from '../support/processes/describe-dapr.ts';
import type { Created } from '../support/processes/history/shape.ts';
import { violationsOf } from '../support/processes/history.ts';
import { unjudgedIn } from '../support/processes/history/matter.ts';
import { type HostClock, hostClock, type HostTime, RIGHT } from '../support/processes/host-clocks.ts';
import { probeActor, probeNeeds } from '../support/processes/probe.ts';
import { engines } from '../support/processes/service.ts';
import { acceptedCount, comes, outOf, waveOf } from '../support/processes/wave.ts';
import { startThirdParties } from '../support/processes/third-parties/start.ts';
import { openWholeCrowd, settlesAlone } from '../support/processes/wave-fault.ts';
import { editSome, limitTo, mixed } from '../support/processes/wave-mix.ts';
import { testDatabase } from '../support/wire/database.ts';
import { addWebhook, openRows, startHost } from '../support/worlds/publishing/webhooks.ts';

// F8: wall clocks of hosts are wrong in the middle of a wave. The database's clock, by which things are due, stays.

const HOUR_MS = 3_600_000;
const PHASE_MS = isFull ? 40_000 : 2_500;
/** Posts that fall due in each phase, and those that are made in it. */
const [DUE, MADE] = isFull ? [400, 40] : [30, 5];
const LATENCY_MS = 50;
const CREATE_MS = 20;

/** Milliseconds until so soon before an instant that the clock passes it in the middle of the phase. */
const shortlyBefore = (instant: number) => instant - PHASE_MS / 2 - systemClock.now().getTime();
const years = () => Array.from({ length: 9 }, (_, n) => systemClock.now().getUTCFullYear() + n);
const next = (instants: readonly number[]) => instants.find((one) => one > systemClock.now().getTime() + HOUR_MS)!;
/** When the clocks of Europe go from two to three: the last Sunday of March. */
const summerTime = (year: number) => {
  const last = new Date(Date.UTC(year, 2, 31, 1));
  return last.getTime() - last.getUTCDay() * 24 * HOUR_MS;
};
const leapDay = (year: number) => Date.UTC(year, 1, 29);
const isLeap = (year: number) => new Date(leapDay(year)).getUTCDate() === 29;

const aheadBy = (aheadMs: number): Clock => ({
  ...systemClock,
  now: () => systemClock.in(aheadMs),
  in: (ms) => systemClock.in(aheadMs + ms),
});

interface Wrong {
  what: string;
  time(): HostTime;
  /** So far off that the API takes a date of today for one long ago. */
  isFar?: true;
}
const WRONG: readonly Wrong[] = [
  { what: 'an hour ahead', time: () => ({ shiftMs: HOUR_MS, pace: 1 }) },
  { what: 'an hour behind', time: () => ({ shiftMs: -HOUR_MS, pace: 1 }) },
  { what: 'ten seconds a minute fast', time: () => ({ shiftMs: 0, pace: 70 / 60 }) },
  {
    what: 'at the beginning of daylight saving time',
    time: () => ({ shiftMs: shortlyBefore(next(years().map(summerTime))), pace: 1 }),
    isFar: true,
  },
  {
    what: 'at the beginning of a leap day',
    time: () => ({ shiftMs: shortlyBefore(next(years().filter(isLeap).map(leapDay))), pace: 1 }),
    isFar: true,
  },
];
const POSTS = DUE * WRONG.length;

describe.each(engines)('wrong clocks on the $name engine', ({ name, missing, start }) => {
  (missing === undefined ? test : test.skip).each(rounds(5))(
    `round $round of $of: clocks of hosts are ahead, behind, fast and years off: nothing is early, lost or out twice [I1, I2, I3, I4, I5, I6, I7, I8, I9, I10, I11, I12, R1, R2, R4]${missing ? ` [skipped: ${missing}]` : ''}`,
    async ({ round }) => {
      await using database = await testDatabase();
      await using thirdParties = await startThirdParties();
      const { NODE_OPTIONS } = thirdParties.env;
      using first = hostClock(NODE_OPTIONS);
      using second = hostClock(NODE_OPTIONS);
      const clocks = name === 'embedded' ? [first] : [first, second];
      const wrongHosts: Record<string, HostClock> = { 'host-1': first, 'host-2': second };
      await using service = await start({
        database,
        env: { ...thirdParties.env, ...(name === 'embedded' && first.env) },
        envOf: (process) => wrongHosts[process]?.env ?? {},
      });
      await using crowd = await openWholeCrowd(service, database.sql, thirdParties, { orgs: 5, channels: DUE });
      const from = systemClock.in(3_000 + POSTS * CREATE_MS);
      const settings = { latencyMs: LATENCY_MS };
      const wanted = mixed(waveOf(crowd.channels, POSTS, from, settings, PHASE_MS * WRONG.length), crowd);
      const madeAt = (due: Date) => waveOf(crowd.channels.slice(0, MADE), MADE, due, settings);
      // on the embedded engine it is the API's clock that is years off, too: it would refuse them
      const making = WRONG.filter(({ isFar }) => name === 'dapr' || !isFar);
      await limitTo(database.sql, crowd, [...wanted, ...making.flatMap(() => madeAt(from))]);
      const posts = await crowd.post(wanted);
      let refused: Created[] = [];
      expect(await comes(async () => (await acceptedCount(database.sql)) > 0, 120_000)).toBe(true);

      thirdParties.begin(service.url);
      for (const n of WRONG.keys()) {
        const now = clocks.map((_, host) => WRONG[(n + host) % WRONG.length]!);
        await Promise.all(clocks.map((clock, host) => clock.set(now[host]!.time())));
        note({ round, engine: name, clocks: now.map(({ what }) => what) });
        if (making.includes(now[0]!)) await crowd.post(madeAt(systemClock.in(PHASE_MS / 2)));
        if (now[0] === making.at(-1))
          refused = await crowd.post(crowd.channels.map((channel) => ({ channel, due: systemClock.in(PHASE_MS) })));
        const later = posts.filter(({ due }) => due > systemClock.in(PHASE_MS));
        await Promise.all([editSome(crowd, { now: posts, later }), crowd.askForCanary(), sleep(PHASE_MS)]);
      }
      await Promise.all(clocks.map((clock) => clock.set(RIGHT)));
      const settledAfterMs = await settlesAlone(service, database.sql, crowd);
      await thirdParties.end();
      note({ round, engine: name, posts: crowd.created.length, settledAfterMs });

      expect(crowd.created.filter(({ status }) => status !== 201)).toEqual(refused);
      expect(refused.map(({ status }) => status)).toEqual(crowd.channels.map(() => 402));
      expect(service.hosts.filter((host) => host.exit() !== undefined)).toEqual([]);
      expect(service.lastWords(10_000)).toContain('the clock of this process differs from that of the database');
      const history = await crowd.history(database.sql);
      expect([violationsOf(history), unjudgedIn(history)]).toEqual([[], []]);
      const out = wanted.length + making.length * MADE;
      expect(outOf(history)).toEqual({ published: out, accepted: out });
      // nor is what happened forgotten before its time
      expect(history.deliveries.filter(({ attempts }) => attempts === 0)).toEqual([]);
    },
    600_000,
  );
});

test('a host whose clock is a year ahead deletes no record of a delivery of today', async () => {
  await using database = await testDatabase();
  const { sql } = database;
  const rows = openRows(sql);
  await using host = await startHost({ url: database.url, clock: aheadBy(365 * 24 * HOUR_MS) });
  const orgId = await rows.org();
  const { id: webhookId } = await addWebhook(host.webhooks, orgId, 'https://hook.test/');
  for (const days of [31, 29, 0])
    await sql`
      insert into webhook_deliveries (id, org_id, webhook_id, event, body, state, created_at)
      values (${newId()}, ${orgId}, ${webhookId}, 'ping', '{}', 'succeeded', now() - make_interval(days => ${days}))`;
  expect(await host.webhooks.dropOld(100)).toBe(1);
});

describeDapr('the reminders of a Dapr host whose clock is an hour ahead', () => {
  test('are overdue by the clock of the database', async () => {
    await using database = await testDatabase();
    await using end = new AsyncDisposableStack();
    const sql = openDatabase({ url: database.url, connections: 4 });
    end.defer(() => sql.end({ timeout: 1 }));
    const dapr = end.use(await startDapr({ databaseUrl: database.url, apiToken: API_TOKEN, appToken: APP_TOKEN }));
    const { needs } = probeNeeds();
    const host = await startDaprHost(dapr, sql, { implementations: [probeActor], needs }, { clock: aheadBy(HOUR_MS) });
    end.defer(() => host.stop());
    await host.engine.remind([
      { type: 'Probe', id: 'later', name: 'ring', due: systemClock.in(HOUR_MS / 2), data: undefined },
    ]);
    expect(await host.engine.reminderCounts()).toEqual({ pending: 1, overdue: 0 });
  });
});
