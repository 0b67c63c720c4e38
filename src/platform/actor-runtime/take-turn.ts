import { asCallerError, isUnavailable } from '../db/index.ts';
import { AppError, draining, isBusy } from '../kernel/index.ts';
import { activate } from './activation.ts';
import type { Address } from './address.ts';
import type { Caller, Methods } from './contract.ts';
import { dropActivation } from './deactivate.ts';
import { Fenced } from './host.ts';
import { becameQuiet } from './quiet.ts';
import type { TurnJob, Mailbox, Turns } from './turn-state.ts';

/**
 * What a caller sees of a thrown value: business errors as they are, a database that is away as `unavailable`, anything
 * else as `internal` without its cause.
 */
export function travelling(thrown: unknown): AppError {
  if (thrown instanceof Fenced) return draining();
  if (!(thrown instanceof AppError)) return AppError.fromJSON(asCallerError(thrown).toJSON());
  return thrown.constructor === AppError ? thrown : AppError.fromJSON(thrown.toJSON());
}

/** A turn as a span of whoever waits for it: another turn may run it. */
export function traced(
  { tracing }: Turns,
  { type, id }: Address,
  what: string,
  run: NonNullable<TurnJob['run']>,
): typeof run {
  if (!tracing?.enabled) return run;
  const parent = tracing.current();
  const attributes = { 'rookery.actor.type': type, 'rookery.actor.id': id };
  return (activation) => tracing.span({ name: `${type}.${what}`, attributes, parent }, () => run(activation));
}

export async function takeTurn(turns: Turns, box: Mailbox, job: TurnJob): Promise<void> {
  const { clock, counters, log } = turns;
  const { hosted, to } = box;
  if (!job.run) return job.resolve(dropActivation(box));
  const start = (box.since = clock.monotonic());
  box.job = job;
  try {
    if (!box.activation) {
      box.activation = await activateIn(turns, box);
      hosted.active += 1;
    }
    const { activation } = box;
    activation.begin();
    const answer = await job.run(activation);
    if (hosted.stateful && (await activation.save())) counters.stateWrites += 1;
    counters.turns += 1;
    const besides = activation.takeBesides();
    if (besides) for (const work of besides) startBeside(turns, box, work);
    job.resolve(answer);
  } catch (thrown) {
    dropActivation(box);
    counters.turns += 1;
    counters.failedTurns += 1;
    if (!(thrown instanceof AppError) || thrown.code === 'internal')
      log[isUnavailable(thrown) ? 'warn' : 'error'](
        { err: thrown, type: to.type, id: to.id, turn: job.what },
        'turn failed, the actor starts anew with the next',
      );
    job.reject(travelling(thrown));
  }
  box.job = undefined;
  if (box.slow) {
    box.slow = false;
    log.warn(
      { type: to.type, id: to.id, turn: job.what, ms: Math.round(clock.monotonic() - start) },
      'a slow turn ended',
    );
  }
}

const activateIn = (turns: Turns, box: Mailbox) =>
  activate(box.to, box.hosted.implementation, box.hosted.stateful, {
    needs: turns.needs,
    actors: turns.actors,
    log: turns.log,
    ports: turns.ports!, // no call waits before an engine attached itself
    startBeside: (work) => startBeside(turns, box, work),
  });

function startBeside(turns: Turns, { to, hosted }: Mailbox, work: (self: Caller<Methods>) => Promise<void>): void {
  const { actors, background, log } = turns;
  const running = (async () => work(actors(hosted.implementation.contract, to.id)))()
    .catch((thrown: unknown) => {
      const goingAway = turns.refusing && thrown instanceof AppError && thrown.code === 'draining';
      if (isBusy(thrown))
        log.warn({ type: to.type, id: to.id }, 'work beside a turn found a queue full; the reconciler brings it back');
      else if (!goingAway) log.error({ err: thrown, type: to.type, id: to.id }, 'work beside a turn failed');
    })
    .finally(() => {
      background.delete(running);
      if (background.size === 0) becameQuiet(turns);
    });
  background.add(running);
}
