import type { Database } from '../../platform/db/index.ts';
import type { Clock } from '../../platform/kernel/index.ts';
import type { Log } from '../../platform/telemetry/index.ts';
import { abandonClaims, type JobClaim, type Claimer, renewClaims } from './claim-store.ts';

interface Held extends JobClaim {
  providerId: string;
  /** By the monotonic clock: since when the row has surely said that this process holds it. */
  since: number;
}

/** What this process has claimed and not yet written, prolonged while it works on it. */
export interface Hands extends Disposable {
  readonly claimer: Claimer;
  /** `since`: before the claim was asked for. */
  take(job: JobClaim & { providerId: string }, since: number): void;
  drop(job: JobClaim): void;
  /** How many steps at a provider are under way. */
  atWork(providerId: string): number;
  /** Whether nobody else can have claimed the step meanwhile. */
  isSafe(job: JobClaim): boolean;
  /** Ends every claim that is left. */
  abandon(): Promise<void>;
}

export function openHands({
  sql,
  clock,
  log,
  incarnation,
  leaseMs = 30_000,
}: {
  sql: Database;
  clock: Clock;
  log: Pick<Log, 'warn'>;
  incarnation: string;
  leaseMs?: number;
}): Hands {
  const claimer: Claimer = { incarnation, leaseMs };
  const all = new Map<string, Held>();
  const perProvider = new Map<string, number>();
  const count = (providerId: string, more: number) =>
    perProvider.set(providerId, (perProvider.get(providerId) ?? 0) + more);

  async function renew(): Promise<void> {
    const since = clock.monotonic();
    const old = [...all.values()].filter((one) => since - one.since > leaseMs / 3);
    try {
      const still = await renewClaims(sql, claimer, old);
      for (const one of old) if (still.has(one.id)) one.since = since;
    } catch (error) {
      log.warn({ err: error, jobs: old.length }, 'claims of media jobs could not be prolonged, tried again');
    }
  }
  const renewal = setInterval(() => void renew(), leaseMs / 6);
  renewal.unref();

  return {
    claimer,
    take(job, since) {
      const former = all.get(job.id); // its lease ended before its step did
      if (former) count(former.providerId, -1);
      all.set(job.id, { id: job.id, orgId: job.orgId, claim: job.claim, providerId: job.providerId, since });
      count(job.providerId, 1);
    },
    drop({ id, claim }) {
      const one = all.get(id);
      if (one?.claim !== claim) return;
      all.delete(id);
      count(one.providerId, -1);
    },
    atWork: (providerId) => perProvider.get(providerId) ?? 0,
    isSafe: ({ id, claim }) => {
      const one = all.get(id);
      return one?.claim === claim && clock.monotonic() - one.since < (leaseMs * 2) / 3;
    },
    async abandon() {
      await abandonClaims(sql, incarnation, [...all.values()]);
    },
    [Symbol.dispose]: () => clearInterval(renewal),
  };
}
