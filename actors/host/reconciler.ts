import { isUnavailable, type Lease } from '../../src/platform/db/index.ts';
import { startLoop } from '../../src/platform/flow/index.ts';
import type { Clock } from '../../src/platform/kernel/index.ts';
import { type Heartbeat, HEARTBEAT_TIMEOUT_MS } from '../../src/publishing/posts/index.ts';
import type { Log } from '../../src/platform/telemetry/index.ts';
import { type Found, NOTHING, openScans, type Scan, type ScanName, type ScansOptions } from './scans.ts';

export interface ReconcilerOptions extends Omit<ScansOptions, 'limit'> {
  /** Which scans may find something, asked at the beginning of a sweep. */
  signs: () => Promise<ReadonlySet<ScanName>>;
  /** One sweeper over all processes. */
  lease: Lease;
  clock: Clock;
  heartbeat: Heartbeat;
  /** Between two sweeps; who has not the lease asks for it twice as often. */
  intervalMs: number;
  /** Before the first sweep: hosts that live have said so by then. */
  firstMs?: number;
  limit?: number;
  /** Told of every sweep, before it ends. */
  onFound?: (found: Found) => void;
}
export interface Reconciler extends AsyncDisposable {
  /** One sweep; answers what it found. Tests call it, the timer does too. */
  sweep(): Promise<Found | undefined>;
}

const ROUNDS = 20;
/** They judge hosts by their silence. */
const JUDGES_HOSTS: ReadonlySet<ScanName> = new Set(['takeOver', 'follow']);

/**
 * Goes on while a scan comes back full, within reason. One that fails, as where reminders cannot be set, keeps none of
 * the others from what they find.
 */
async function scanWhole(
  scan: Scan,
  found: Found,
  { limit, signal, log }: { limit: number; signal: AbortSignal; log: Log },
): Promise<void> {
  try {
    for (let n = 0; n < ROUNDS && !signal.aborted; n++) if ((await scan(found)) < limit) return;
  } catch (error) {
    if (isUnavailable(error)) throw error; // no scan can be made, and hosts that live cannot say so
    log.warn({ err: error, scan: scan.name }, 'a scan failed and is made again');
  }
}

/**
 * Finds what is due and untouched: a lost reminder, a dead host, a broken commit is a delay, never a loss. After a gap
 * of its own, when the database or this process stood still, it waits one silence, so that hosts that live can say so
 * first.
 */
export function startReconciler({
  signs,
  lease,
  clock,
  heartbeat,
  intervalMs,
  firstMs = intervalMs,
  limit = 500,
  onFound,
  ...needs
}: ReconcilerOptions): Reconciler {
  const { log } = needs;
  const scans = Object.entries(openScans({ ...needs, limit })) as [ScanName, Scan][];
  let lastEnd = clock.monotonic();
  let quietUntil = 0;

  async function sweep(): Promise<Found | undefined> {
    const now = clock.monotonic();
    if (now - lastEnd > 2 * intervalMs + HEARTBEAT_TIMEOUT_MS || heartbeat.heartbeatAgeMs() > HEARTBEAT_TIMEOUT_MS)
      quietUntil = now + HEARTBEAT_TIMEOUT_MS + 1_000;
    try {
      if (!(await lease.held())) return undefined;
      const found: Found = { ...NOTHING };
      const signed = await findSigns();
      for (const [name, scan] of scans) {
        if (JUDGES_HOSTS.has(name) && clock.monotonic() < quietUntil) continue;
        // what one scan brings on may be for those behind it
        if (signed.has(name) || Object.values(found).some((n) => n > 0))
          await scanWhole(scan, found, { limit, signal: loop.signal, log });
      }
      onFound?.(found);
      return found;
    } catch (error) {
      quietUntil = clock.monotonic() + HEARTBEAT_TIMEOUT_MS + 1_000;
      throw error;
    } finally {
      lastEnd = clock.monotonic();
    }
  }

  /** Each scan is made where the signs cannot be asked for. */
  async function findSigns(): Promise<ReadonlySet<ScanName>> {
    try {
      return await signs();
    } catch (error) {
      if (isUnavailable(error)) throw error;
      log.warn({ err: error }, 'the signs of work could not be read, every scan is made');
      return new Set(scans.map(([name]) => name));
    }
  }

  const loop = startLoop({
    clock,
    lease,
    firstRestMs: firstMs,
    restMs: intervalMs,
    round: async () => ((await sweep()) ? intervalMs : intervalMs / 2),
    onError: (error) => log.warn({ err: error }, 'a sweep failed and is made again'),
  });
  return { sweep, [Symbol.asyncDispose]: () => loop[Symbol.asyncDispose]() };
}
