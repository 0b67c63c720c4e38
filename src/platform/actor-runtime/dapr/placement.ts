import { startLoop } from '../../flow/index.ts';
import type { Clock } from '../../kernel/index.ts';
import type { RuntimeLog } from '../host.ts';
import type { Sidecar } from './sidecar.ts';

const LANE = ' placement';
const LOOK_MS = 1_000;
/** A placement that is started again is back within seconds, and calls wait for it. */
const AWAY_MS = 8_000;

/** Whether the sidecar is connected to placement, without which it holds every call of an actor back. */
export interface PlacementWatch {
  isAway(): boolean;
  /** Rejects with what `reason` makes when placement is away, also while `work` waits. */
  race<T>(work: () => Promise<T>, reason: () => Error): Promise<T>;
  close(): void;
}

interface Options {
  sidecar: Sidecar;
  clock: Clock;
  log: RuntimeLog;
}

/** Asks the sidecar every second. A sidecar that does not answer says nothing: calls of it fail by themselves. */
export function watchPlacement({ sidecar, clock, log }: Options): PlacementWatch {
  const waiting = new Set<() => void>();
  let lostAt: number | undefined;
  let isAway = false;

  async function isConnected(): Promise<boolean> {
    const { status, text } = await sidecar.ask(LANE, { method: 'GET', path: '/v1.0/metadata' });
    const { actorRuntime } = JSON.parse(text) as { actorRuntime?: { placement?: string } };
    return status !== 200 || actorRuntime?.placement === undefined || actorRuntime.placement === 'placement: connected';
  }
  async function look(): Promise<void> {
    if (await isConnected().catch(() => true)) {
      if (isAway) log.warn({}, 'placement is back: actors can be reached again');
      lostAt = undefined;
      isAway = false;
      return;
    }
    lostAt ??= clock.monotonic();
    if (isAway || clock.monotonic() - lostAt < AWAY_MS) return;
    isAway = true;
    log.error({}, 'the sidecar has no connection to placement: no actor can be reached until it is back');
    for (const give of waiting) give();
    waiting.clear();
  }
  const loop = startLoop({
    clock,
    restMs: LOOK_MS,
    round: look,
    onError: (error) => log.debug({ err: error }, 'placement could not be asked for'),
  });

  return {
    isAway: () => isAway,
    race(work, reason) {
      if (isAway) return Promise.reject(reason());
      return new Promise((done, fail) => {
        const give = () => fail(reason());
        waiting.add(give);
        work()
          .then(done, fail)
          .finally(() => waiting.delete(give));
      });
    },
    close: () => void loop[Symbol.asyncDispose](),
  };
}
