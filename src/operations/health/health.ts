import { type CronRun, type Database, listRuns } from '../../platform/db/index.ts';
import type { Clock } from '../../platform/kernel/index.ts';
import { countRefused } from '../../platform/outbox/index.ts';
import type { Posts } from '../../publishing/posts/index.ts';
import type { Webhooks } from '../../delivery/webhooks/index.ts';

/** A summary for people and probes (S24). */
export interface HealthReport {
  jobs: { engine: string; wired: readonly string[]; pending: number };
  crons: readonly { name: string; lastRunAt: Date | null; lastStatus: string | null; lastDurationMs: number | null }[];
  lateness: { p50Ms: number | null; p99Ms: number | null };
  /** Facts that were set aside: a listener could not hear them. */
  refusedFacts: number;
}

/** Checks of the health routes beside the database and the cache. */
export interface Health {
  /** Set when the process is asked to end: from then on it is not ready. */
  draining: boolean;
  report(): Promise<HealthReport>;
  /** Asks the database; rejects when it cannot be reached. */
  askDatabase(): Promise<unknown>;
  /** The last runs of sweeps. */
  runs(): Promise<readonly CronRun[]>;
  /** `from`: the engine's own count, or where it cannot say the rows that the reminders stand for. */
  reminders(): Promise<{ pending: number; overdue: number; from: 'engine' | 'rows' }>;
}

/** The part of the actor engine that health asks. */
export interface HealthEngine {
  readonly name: string;
  reminderCounts(): Promise<{ pending: number; overdue: number } | undefined>;
}

interface Options {
  sql: Database;
  clock: Clock;
  engine: HealthEngine;
  posts: Pick<Posts, 'work' | 'lateness'>;
  webhooks: Pick<Webhooks, 'work'>;
  /** The actor types that there are. */
  wired: readonly string[];
}

const SUMMARY_MS = 5_000;

/**
 * Health of this process, for the health routes and operators. The summary is made at most once in five seconds: nobody
 * has to log in to ask for it.
 */
export function openHealth({ sql, clock, engine, posts, webhooks, wired }: Options): Health {
  let made: { at: number; report: ReturnType<Health['report']> } | undefined;

  async function reminders(): ReturnType<Health['reminders']> {
    const counted = await engine.reminderCounts();
    if (counted) return { ...counted, from: 'engine' };
    const [ofPosts, ofWebhooks] = await Promise.all([posts.work(), webhooks.work()]);
    return {
      pending: ofPosts.pending + ofWebhooks.pending,
      overdue: ofPosts.overdue + ofWebhooks.overdue,
      from: 'rows',
    };
  }
  async function report(): ReturnType<Health['report']> {
    const [{ pending }, { p50Ms, p99Ms }, crons, refusedFacts] = await Promise.all([
      reminders(),
      posts.lateness(),
      listRuns(sql),
      countRefused(sql),
    ]);
    return {
      jobs: { engine: engine.name, wired, pending },
      crons: crons.map(({ name, lastRunAt, lastStatus, lastDurationMs }) => ({
        name,
        lastRunAt,
        lastStatus,
        lastDurationMs,
      })),
      lateness: { p50Ms, p99Ms },
      refusedFacts,
    };
  }
  return {
    draining: false,
    askDatabase: () => sql`select 1`.execute(),
    runs: () => listRuns(sql),
    reminders,
    report() {
      if (made && clock.monotonic() - made.at < SUMMARY_MS) return made.report;
      const mine = { at: clock.monotonic(), report: report() };
      mine.report.catch(() => void (made === mine && (made = undefined))); // a database that was away is asked again
      made = mine;
      return mine.report;
    },
  };
}
