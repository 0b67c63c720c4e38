import { expect, test } from '@jest/globals';
import type { Database } from '../../../src/platform/db/index.ts';
import { systemClock } from '../../../src/platform/kernel/index.ts';
import { type Chance, chance, isFull, note, rounds } from './chaos.ts';
import { violationsOf } from './history.ts';
import { unjudgedIn } from './history/matter.ts';
import type { Created } from './history/shape.ts';
import { engines, type Service, type ServiceOptions } from './service.ts';
import {
  acceptedCount,
  allSettled,
  type Channel,
  comes,
  type Crowd,
  type CrowdSize,
  openCrowd,
  outOf,
  type Wanted,
  waveOf,
} from './wave.ts';
import { editSome, limitTo, mixed } from './wave-mix.ts';
import { startThirdParties, type ThirdParties } from './third-parties/start.ts';
import { testDatabase } from '../wire/database.ts';

/** Posts that fall due while something breaks, ten on each channel. */
export interface Wave {
  posts: number;
  /** For making them, before the first one is due. Default: what a busy machine needs. */
  leadMs?: number;
  /** From the first to the last of them. Default: one second. */
  overMs?: number;
  /** So many of them are out at most when it breaks. */
  before: number;
  /** Posts that fall due later, on the same channels: when it breaks, nothing but a reminder and a row knows of them. */
  later: number;
  /** From the first of the wave to the first of those. */
  laterMs: number;
}
const POSTS = isFull ? 2_000 : 200;
const WAVE: Wave = { posts: POSTS, before: POSTS / 2, later: POSTS / 2, laterMs: 15_000 };
const LATENCY_MS = 50;
const CREATE_MS = 20; // for one create on a busy machine

interface WaveFault {
  service: Service;
  /** The product's database, and that of the network's ledger where it is another one. */
  sql: Database;
  ledger?: Database;
  random: Chance;
  /** Those who the service was started with. Each organization may make as many posts as the wave has. */
  thirdParties: ThirdParties;
  wave?: Wave;
  /** What breaks once the network has some of the posts, and is whole again at its end. */
  breaks: () => Promise<unknown>;
}

/** What is not as it must be of the history, and posts that are not out; a thread is one. */
interface Outcome {
  violations: unknown;
  /** Invariants that the history gave nothing to judge. */
  unjudged: readonly string[];
  created: number;
  published: number;
  accepted: number;
  gone: number;
}

/** Nothing is lost, doubled or early, and no process has ended. */
export const wholeOf = ({ posts, later }: Wave): Outcome => ({
  violations: [],
  unjudged: [],
  created: posts + later,
  published: posts + later,
  accepted: posts + later,
  gone: 0,
});
export const WHOLE = wholeOf(WAVE);

/**
 * A crowd beside those who pay, get mails and spend, and beside a canary: what comes of its waves has matter for each
 * invariant.
 */
export async function openWholeCrowd(
  { url }: Pick<Service, 'url'>,
  sql: Database,
  thirdParties: ThirdParties,
  size: Pick<CrowdSize, 'orgs' | 'channels' | 'answeredLate'>,
): Promise<Crowd> {
  await using begun = new AsyncDisposableStack();
  await thirdParties.record(sql);
  const crowd = begun.use(await openCrowd(url, { ...size, plans: sql, thirdParties }));
  await thirdParties.open(url, sql);
  await crowd.plantCanary(sql);
  begun.move();
  return crowd;
}

/**
 * Makes a wave of posts on the other channels, and last those of `held`: the network holds the first request of each of
 * these for `heldMs`, from a moment on in which all are made, and one more post waits behind it. Answers them, and how
 * long before the wave they were made; negative on a slow machine.
 */
export async function postHeldWave(
  sql: Database,
  crowd: Crowd,
  held: readonly Channel[],
  { posts, heldMs }: { posts: number; heldMs: number },
): Promise<{ made: Created[]; leftMs: number }> {
  const from = systemClock.in(3_000 + posts * CREATE_MS);
  const others = crowd.channels.filter((one) => !held.includes(one));
  const wave = mixed(waveOf(others, posts, from, { latencyMs: LATENCY_MS }), crowd);
  const heldFrom = (due: number) => [
    ...waveOf(held, held.length, new Date(due), { latencyMs: heldMs }),
    ...waveOf(held, held.length, new Date(due + 1_500), { latencyMs: LATENCY_MS }),
  ];
  await limitTo(sql, crowd, [...wave, ...heldFrom(from.getTime())]);
  const made = await crowd.post(wave);
  const leftMs = from.getTime() - systemClock.now().getTime();
  made.push(...(await crowd.post(heldFrom(systemClock.in(Math.max(leftMs - 1_500, 1_000)).getTime()))));
  return { made, leftMs };
}

/** Has a wave of posts fall due, breaks something in the middle of it, and waits until all has its end. */
export async function brokenBy({
  service,
  sql,
  ledger = sql,
  random,
  thirdParties,
  wave = WAVE,
  breaks,
}: WaveFault): Promise<Outcome> {
  const { posts, overMs, before, later, laterMs, leadMs = 3_000 + (posts + later) * CREATE_MS } = wave;
  await using crowd = await openWholeCrowd(service, sql, thirdParties, { orgs: 10, channels: posts / 10 });
  const from = systemClock.in(leadMs);
  const settings = { latencyMs: LATENCY_MS };
  const wanted = [
    ...mixed(waveOf(crowd.channels, posts, from, settings, overMs), crowd),
    ...waveOf(crowd.channels, later, new Date(from.getTime() + laterMs), settings),
  ];
  await limitTo(sql, crowd, wanted);
  const answers = await crowd.post(wanted);
  const isLater = ({ due }: Created) => due.getTime() >= from.getTime() + laterMs;
  const [now, behind] = [answers.filter((one) => !isLater(one)), answers.filter(isLater)];
  const moment = 1 + random.pick(before);
  const untilDueMs = Math.max(0, from.getTime() - systemClock.now().getTime());
  if (!(await comes(async () => (await acceptedCount(ledger)) >= moment, untilDueMs + 120_000)))
    throw new Error(`The wave did not begin\n${service.lastWords()}`);
  const at = performance.now();
  const tooMany = crowd.channels.map((channel): Wanted => ({ channel, due: new Date(from.getTime() + laterMs) }));
  const underWay = Promise.all([editSome(crowd, { now, later: behind }), crowd.askForCanary(), crowd.post(tooMany)]);
  thirdParties.begin(service.url);
  await breaks();
  const brokenMs = Math.round(performance.now() - at);
  const settledAfterMs = await settlesAlone(service, sql, crowd);
  await underWay;
  await thirdParties.end();
  note({ engine: service.engine, posts: posts + later, moment, brokenMs, settledAfterMs });
  const history = await crowd.history(sql, ledger);
  return {
    violations: violationsOf(history),
    unjudged: unjudgedIn(history),
    created: crowd.created.filter(({ status }) => status === 201).length,
    ...outOf(history),
    gone: service.hosts.filter((host) => host.exit() !== undefined).length,
  };
}

/**
 * Waits until all has come to an end, by reading alone. A process of the product that ends or is another one by then
 * was somebody's work. Notes how many posts were acknowledged, which `npm run chaos` adds up, and answers after how many
 * milliseconds all was settled.
 */
export async function settlesAlone(
  service: Pick<Service, 'engine' | 'hosts' | 'lastWords'>,
  sql: Database,
  crowd: Pick<Crowd, 'created' | 'hand' | 'letAlone'>,
): Promise<number> {
  const before = [...service.hosts];
  const gone = new Set(before.filter((host) => host.exit())); // by the fault, and nobody starts them again
  const ms = await allSettled(sql).catch((error: unknown) =>
    Promise.reject(new Error(`${String(error)}\n${service.lastWords()}`)),
  );
  for (const [n, host] of service.hosts.entries())
    if (host !== before[n]) crowd.hand(`host ${n + 1} was started again`);
    else if (host.exit() && !gone.has(host)) crowd.hand(`host ${n + 1} has ended`);
  crowd.letAlone();
  note({ engine: service.engine, settled: crowd.created.filter(({ status }) => status === 201).length });
  return ms;
}

/** What a wave shows, however it is broken: the invariants, none lost, none doubled, none early or out of order. */
const SHOWN = '[I1, I2, I3, I4, I5, I6, I7, I8, I9, I10, I11, I12, R1, R2, R4]';

interface DaprFault extends Pick<ServiceOptions, 'hosts' | 'between'> {
  /** Seeds the draws: `f03`. */
  name: string;
  /** Rounds at full depth. */
  most: number;
  /** What happens, for the title. */
  title: string;
  wave?: Wave;
  breaks: (service: Service, random: Chance) => Promise<unknown>;
}

/** Declares the rounds in which something breaks a wave on real Dapr; skipped by name where Dapr is missing. */
export function testOnDapr({ name, most, title, hosts = 2, wave = WAVE, breaks, ...options }: DaprFault): void {
  const random = chance(name);
  const dapr = engines[1]!;
  (dapr.missing === undefined ? test : test.skip).each(rounds(most))(
    `round $round of $of: ${title}, and every post is out once ${SHOWN}${dapr.missing ? ` [skipped: ${dapr.missing}]` : ''}`,
    async () => {
      await using database = await testDatabase();
      await using thirdParties = await startThirdParties();
      await using service = await dapr.start({ database, hosts, env: thirdParties.env, ...options });
      const broken = await brokenBy({
        service,
        sql: database.sql,
        random,
        thirdParties,
        wave,
        breaks: () => breaks(service, random),
      });
      expect(broken).toEqual(wholeOf(wave));
    },
    600_000,
  );
}
