import { asCallerError, isUnavailable } from '../db/index.ts';
import { atMost, Fifo } from '../flow/index.ts';
import { AppError, busy, draining, isBusy } from '../kernel/index.ts';
import { type Activation, activate } from './activation.ts';
import { type Address, addressKey } from './address.ts';
import type { Caller, Methods } from './contract.ts';
import { Fenced, type HostCounters, type HostLimits, type HostOptions, type HostPorts } from './host.ts';
import type { Implementation } from './implement.ts';

const RETRY_BUSY_MS = 1_000;

/** An actor type of this host. */
export interface Hosted {
  readonly implementation: Implementation;
  readonly stateful: boolean;
  active: number;
}
interface Job {
  readonly what: string;
  /** Undefined: deactivates instead of taking a turn. */
  readonly run: ((activation: Activation) => Promise<unknown>) | undefined;
  resolve(answer: unknown): void;
  reject(error: unknown): void;
}
interface Mailbox {
  readonly to: Address;
  readonly key: string;
  readonly hosted: Hosted;
  readonly queue: Fifo<Job>;
  job: Job | undefined;
  since: number;
  slow: boolean;
  activation: Activation | undefined;
}

/** What the host of one process shares among its turns. */
export interface Turns extends Pick<HostOptions, 'needs' | 'actors' | 'clock' | 'log' | 'tracing'> {
  readonly limits: HostLimits;
  readonly types: ReadonlyMap<string, Hosted>;
  readonly mailboxes: Map<string, Mailbox>;
  readonly atWork: Set<Mailbox>;
  readonly background: Set<Promise<void>>;
  readonly counters: HostCounters;
  /** Who waits for the last turn or the last background work to end. */
  readonly quiet: (() => void)[];
  /** Of the engine, once it attached itself. */
  ports: HostPorts | undefined;
  refusing: boolean;
}

/**
 * What a caller sees of a thrown value: business errors as they are, a database that is away as `unavailable`, anything
 * else as `internal` without its cause.
 */
export function travelling(thrown: unknown): AppError {
  if (thrown instanceof Fenced) return draining();
  if (!(thrown instanceof AppError)) return AppError.fromJSON(asCallerError(thrown).toJSON());
  return thrown.constructor === AppError ? thrown : AppError.fromJSON(thrown.toJSON());
}

function mailboxOf({ mailboxes }: Turns, to: Address, hosted: Hosted): Mailbox {
  const key = addressKey(to.type, to.id);
  let box = mailboxes.get(key);
  if (!box)
    mailboxes.set(
      key,
      (box = {
        to: { type: to.type, id: to.id },
        key,
        hosted,
        queue: new Fifo(),
        job: undefined,
        since: 0,
        slow: false,
        activation: undefined,
      }),
    );
  return box;
}

/** A turn as a span of whoever waits for it: another turn may run it. */
function traced({ tracing }: Turns, { type, id }: Address, what: string, run: NonNullable<Job['run']>): typeof run {
  if (!tracing?.enabled) return run;
  const parent = tracing.current();
  const attributes = { 'rookery.actor.type': type, 'rookery.actor.id': id };
  return (activation) => tracing.span({ name: `${type}.${what}`, attributes, parent }, () => run(activation));
}

/** Waits in the mailbox for a turn. */
export function enqueue(
  turns: Turns,
  to: Address,
  hosted: Hosted,
  what: string,
  run: NonNullable<Job['run']>,
): Promise<unknown> {
  if (turns.refusing) return Promise.reject(draining());
  if (!turns.ports) return Promise.reject(new AppError('unavailable', 'This host has no engine yet'));
  const box = mailboxOf(turns, to, hosted);
  if (box.queue.length >= turns.limits.mailbox) {
    turns.counters.refusedBusy += 1;
    return Promise.reject(busy(RETRY_BUSY_MS));
  }
  return new Promise((resolve, reject) => {
    box.queue.push({ what, run: traced(turns, to, what, run), resolve, reject });
    if (!turns.atWork.has(box)) void workOff(turns, box);
  });
}

async function workOff(turns: Turns, box: Mailbox): Promise<void> {
  const { atWork, mailboxes } = turns;
  atWork.add(box);
  for (let job = box.queue.shift(); job; job = box.queue.shift()) await takeTurn(turns, box, job);
  atWork.delete(box);
  if (!box.activation) mailboxes.delete(box.key);
  if (atWork.size === 0) becameQuiet(turns);
}

async function takeTurn(turns: Turns, box: Mailbox, job: Job): Promise<void> {
  const { clock, counters, log } = turns;
  const { hosted, to } = box;
  if (!job.run) return job.resolve(drop(box));
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
    drop(box);
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

/** Forgets the actor's memory. True when there was some. */
function drop(box: Mailbox): boolean {
  if (!box.activation) return false;
  box.activation.takeBesides();
  box.activation = undefined;
  box.hosted.active -= 1;
  return true;
}

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

function becameQuiet({ quiet }: Turns): void {
  for (const wake of quiet.splice(0)) wake();
}

const waitFor = ({ clock, quiet }: Turns, ms: number, done: () => boolean) =>
  atMost(clock, ms, async () => {
    while (!done()) await new Promise<void>((wake) => quiet.push(wake));
  });

/** Deactivates who had no turn for long, and tells of turns that last too long. */
export function lookRound({ atWork, clock, limits, log, mailboxes }: Turns): void {
  const now = clock.monotonic();
  for (const box of atWork) {
    if (!box.slow && box.job && now - box.since > limits.turnMs) {
      box.slow = true;
      log.warn(
        { type: box.to.type, id: box.to.id, turn: box.job.what },
        'a turn lasts too long; calls of its actor wait',
      );
    }
  }
  for (const box of mailboxes.values()) {
    if (atWork.has(box) || now - box.since <= limits.idleMs) continue;
    drop(box);
    mailboxes.delete(box.key);
  }
}

/** Drops memory after the running turn. True when the actor was active. */
export async function deactivate({ types, mailboxes, atWork }: Turns, of: Address): Promise<boolean> {
  const hosted = types.get(of.type);
  const box = hosted && mailboxes.get(addressKey(of.type, of.id));
  if (!box) return false;
  if (!atWork.has(box)) {
    mailboxes.delete(box.key);
    return drop(box);
  }
  return new Promise((resolve) => {
    box.queue.push({
      what: 'deactivate',
      run: undefined,
      resolve: (active) => resolve(active === true),
      reject: () => resolve(false),
    });
  });
}

/** For each type the calls that wait, and the most of one actor. */
export function countQueued({ types, atWork }: Turns): Record<string, { queued: number; longest: number }> {
  const answer: Record<string, { queued: number; longest: number }> = {};
  for (const type of types.keys()) answer[type] = { queued: 0, longest: 0 };
  for (const { to, queue } of atWork) {
    const depth = answer[to.type]!;
    depth.queued += queue.length;
    depth.longest = Math.max(depth.longest, queue.length);
  }
  return answer;
}

/** Every call that waits is `draining`. */
export function refuseWaiting({ atWork }: Turns): void {
  for (const box of atWork) for (let job = box.queue.shift(); job; job = box.queue.shift()) job.reject(draining());
}

/** Ends when running turns and background work have ended, or their time is over. Answers what is left. */
export async function settleTurns(turns: Turns): Promise<{ turns: number; background: number }> {
  const { atWork, background, limits } = turns;
  await waitFor(turns, limits.turnMs, () => atWork.size === 0);
  await waitFor(turns, limits.backgroundMs, () => background.size === 0);
  return { turns: atWork.size, background: background.size };
}
