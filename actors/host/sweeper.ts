import {
  type Database,
  declareRuns,
  dueRuns,
  type EndedRun,
  type Lease,
  noteRuns,
} from '../../src/platform/db/index.ts';
import { startLoop } from '../../src/platform/flow/index.ts';
import type { Clock } from '../../src/platform/kernel/index.ts';
import type { Log } from '../../src/platform/telemetry/index.ts';
import type { Sweep } from '../../src/platform/wing/index.ts';

export interface SweeperOptions {
  sql: Database;
  sweeps: readonly Sweep[];
  /** One sweeper over all processes. */
  lease: Lease;
  clock: Clock;
  log: Log;
  /** Between two looks at what is due. */
  tickMs?: number;
  limit?: number;
}
export interface Sweeper extends AsyncDisposable {
  /** Runs what is due, one after the other; answers the names. Tests call it, the timer does too. */
  tick(): Promise<readonly string[]>;
}

const MOST_ROUNDS = 200;
/** A sweep begins no further round after so long, as others wait for it: one may ask a network that hangs. */
const LONGEST_MS = 60_000;
/** Between two sweeps the lease is not asked for again so long, of which it lasts many times more. */
const HELD_MS = 10_000;
/** Runs that ended within so long are written down together. */
const UNWRITTEN_MS = 1_000;

/**
 * Runs each sweep when its interval is over, in one process at a time, and keeps when it last ran, how that ended and
 * how long it took (HE5). One that ended before its work did goes on with the next look of this process, behind what is
 * due; one that was cut, as the process ends or lost the lease, is due for the next process.
 */
export function startSweeper({
  sql,
  sweeps,
  lease,
  clock,
  log,
  tickMs = 30_000,
  limit = 500,
}: SweeperOptions): Sweeper {
  let declared = false;
  /** Sweeps whose work is not done; one of them goes on in each look, so that the others wait for one only. */
  const unfinished = new Set<string>();

  let heldUntil = -Infinity;
  async function isHeld(): Promise<boolean> {
    if (clock.monotonic() < heldUntil) return true;
    const held = await lease.held();
    heldUntil = held ? clock.monotonic() + HELD_MS : -Infinity;
    return held;
  }

  const ended: (Omit<EndedRun, 'beganMs'> & { began: number })[] = [];
  async function writeRuns(): Promise<void> {
    const now = clock.monotonic();
    const runs = ended.splice(0).map(({ began, ...run }) => ({ ...run, beganMs: now - began }));
    if (runs.length > 0) await noteRuns(sql, runs);
  }

  async function runWhole({ name, run }: Sweep): Promise<void> {
    const started = clock.monotonic();
    let changed = 0;
    let [isDone, isCut] = [false, false];
    unfinished.delete(name);
    let status: 'ok' | 'failed' = 'ok';
    try {
      for (let round = 0; round < MOST_ROUNDS; round++) {
        const done = await run(limit);
        changed += done;
        isDone = done < limit;
        if (isDone || clock.monotonic() - started > LONGEST_MS) break;
        isCut = loop.signal.aborted || !(await lease.held());
        if (isCut) break;
      }
    } catch (error) {
      status = 'failed';
      isDone = true;
      log.warn({ sweep: name, err: error }, 'a sweep failed and is made again when its interval is over');
    }
    if (isCut) return; // still due, for the process that follows
    if (!isDone) unfinished.add(name);
    ended.push({ name, status, began: started, durationMs: clock.monotonic() - started, changed });
    if (clock.monotonic() - ended[0]!.began >= UNWRITTEN_MS) await writeRuns();
  }

  async function tick(): Promise<readonly string[]> {
    heldUntil = -Infinity;
    if (!(await isHeld())) return [];
    if (!declared)
      await declareRuns(
        sql,
        sweeps.map(({ name }) => name),
      );
    declared = true;
    const due = await dueRuns(sql, sweeps);
    const left = [...unfinished].find((name) => !due.includes(name));
    if (left !== undefined) due.push(left);
    for (const name of due) {
      if (loop.signal.aborted || !(await isHeld())) break;
      await runWhole(sweeps.find((sweep) => sweep.name === name)!);
    }
    await writeRuns();
    return due;
  }

  const loop = startLoop({
    clock,
    lease,
    firstRestMs: tickMs,
    restMs: tickMs,
    round: async () => void (await tick()),
    onError: (error) => log.warn({ err: error }, 'the sweeps could not be looked at'),
  });
  return { tick, [Symbol.asyncDispose]: () => loop[Symbol.asyncDispose]() };
}
