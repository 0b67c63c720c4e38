import { asCallerError, isUnavailable } from '../db/index.ts';
import { AppError, asAppError, busy, draining, notFound, parse, validationFailed } from '../kernel/index.ts';
import { type Activation, activate, hasState, methodOf } from './activation.ts';
import { type Address, addressKey } from './address.ts';
import { rememberCommands } from './commands.ts';
import type { Caller, Method, Methods, ReminderKind } from './contract.ts';
import type { Settled } from './engine.ts';
import {
  Fenced,
  type Fired,
  type Host,
  type HostCounters,
  type HostLimits,
  type HostOptions,
  type HostPorts,
} from './host.ts';
import type { Implementation } from './implement.ts';
import { noteNudges } from './nudges.ts';
import { atMost, Fifo } from '../flow/index.ts';

const LIMITS: HostLimits = {
  mailbox: 1_000,
  nudgesAtWork: 256,
  nudgesWaiting: 20_000,
  turnMs: 2_000,
  backgroundMs: 8_000,
  idleMs: 600_000,
  commands: 10_000,
  commandMs: 60_000,
};
const RETRY_BUSY_MS = 1_000;
const NUDGE_AGAIN_MS = 1_000;
const INTERNAL = asAppError(undefined).message;

interface Hosted {
  readonly implementation: Implementation;
  readonly stateful: boolean;
  active: number;
}
type Handler = (input: unknown, turn: unknown) => Promise<unknown>;
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

/**
 * What a caller sees of a thrown value: business errors as they are, a database that is away as `unavailable`, anything
 * else as `internal` without its cause.
 */
function travelling(thrown: unknown): AppError {
  if (thrown instanceof Fenced) return draining();
  if (!(thrown instanceof AppError)) return AppError.fromJSON(asCallerError(thrown).toJSON());
  return thrown.constructor === AppError ? thrown : AppError.fromJSON(thrown.toJSON());
}
const handlerOf = ({ implementation }: Hosted, name: string) => implementation.spec.methods[name] as Handler;
const failed = (error: AppError): Settled => ({ ok: false, error: error.toJSON() });

/** Makes the host of one process. It starts no turn before an engine attached itself. */
export function createHost({ implementations, needs, actors, clock, log, limits: given = {} }: HostOptions): Host {
  const limits: HostLimits = { ...LIMITS, ...given };
  const types = new Map<string, Hosted>(
    implementations.map((implementation) => [
      implementation.contract.type,
      { implementation, stateful: hasState(implementation), active: 0 },
    ]),
  );
  const mailboxes = new Map<string, Mailbox>();
  const atWork = new Set<Mailbox>();
  const background = new Set<Promise<void>>();
  const counters: HostCounters = {
    turns: 0,
    failedTurns: 0,
    calls: 0,
    batches: 0,
    batchedInputs: 0,
    reminders: 0,
    nudges: 0,
    stateWrites: 0,
    refusedBusy: 0,
    repeatedCommands: 0,
  };
  const commands = rememberCommands({ max: limits.commands, ms: limits.commandMs, clock });
  let ports: HostPorts | undefined;
  let refusing = false;
  let sweep: NodeJS.Timeout | undefined;
  const quiet: (() => void)[] = []; // who waits for the last turn or the last background work to end

  function hostedOf({ type }: Address): Hosted {
    const hosted = types.get(type);
    if (!hosted) throw notFound(`No actor type ${type} is hosted here`);
    return hosted;
  }

  function mailboxOf(to: Address, hosted: Hosted): Mailbox {
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

  /** Waits in the mailbox for a turn. */
  function enqueue(to: Address, hosted: Hosted, what: string, run: NonNullable<Job['run']>): Promise<unknown> {
    if (refusing) return Promise.reject(draining());
    if (!ports) return Promise.reject(new AppError('unavailable', 'This host has no engine yet'));
    const box = mailboxOf(to, hosted);
    if (box.queue.length >= limits.mailbox) {
      counters.refusedBusy += 1;
      return Promise.reject(busy(RETRY_BUSY_MS));
    }
    return new Promise((resolve, reject) => {
      box.queue.push({ what, run, resolve, reject });
      if (!atWork.has(box)) void workOff(box);
    });
  }

  async function workOff(box: Mailbox): Promise<void> {
    atWork.add(box);
    for (let job = box.queue.shift(); job; job = box.queue.shift()) await takeTurn(box, job);
    atWork.delete(box);
    if (!box.activation) mailboxes.delete(box.key);
    if (atWork.size === 0) becameQuiet();
  }

  async function takeTurn(box: Mailbox, job: Job): Promise<void> {
    const { hosted, to } = box;
    if (!job.run) return job.resolve(drop(box));
    const start = (box.since = clock.monotonic());
    box.job = job;
    try {
      if (!box.activation) {
        box.activation = await activate(to, hosted.implementation, hosted.stateful, {
          needs,
          actors,
          log,
          ports: ports!,
          startBeside: (work) => startBeside(box, work),
        });
        hosted.active += 1;
      }
      const { activation } = box;
      activation.begin();
      const answer = await job.run(activation);
      if (hosted.stateful && (await activation.save())) counters.stateWrites += 1;
      counters.turns += 1;
      const besides = activation.takeBesides();
      if (besides) for (const work of besides) startBeside(box, work);
      job.resolve(answer);
    } catch (thrown) {
      drop(box);
      counters.turns += 1;
      counters.failedTurns += 1;
      if (!(thrown instanceof AppError) || thrown.code === 'internal')
        log[isUnavailable(thrown) ? 'warn' : 'error'](
          { err: thrown, type: to.type, id: to.id, turn: job.what },
          'A turn failed',
        );
      job.reject(travelling(thrown));
    }
    box.job = undefined;
    if (box.slow) {
      box.slow = false;
      log.warn(
        { type: to.type, id: to.id, turn: job.what, ms: Math.round(clock.monotonic() - start) },
        'A slow turn ended',
      );
    }
  }

  /** Forgets the actor's memory. True when there was some. */
  function drop(box: Mailbox): boolean {
    if (!box.activation) return false;
    box.activation.takeBesides();
    box.activation = undefined;
    box.hosted.active -= 1;
    return true;
  }

  function startBeside({ to, hosted }: Mailbox, work: (self: Caller<Methods>) => Promise<void>): void {
    const running = (async () => work(actors(hosted.implementation.contract, to.id)))()
      .catch((thrown: unknown) => {
        const goingAway = refusing && thrown instanceof AppError && thrown.code === 'draining';
        if (!goingAway) log.error({ err: thrown, type: to.type, id: to.id }, 'Work beside a turn failed');
      })
      .finally(() => {
        background.delete(running);
        if (background.size === 0) becameQuiet();
      });
    background.add(running);
  }

  function becameQuiet(): void {
    for (const wake of quiet.splice(0)) wake();
  }

  const waitFor = (ms: number, done: () => boolean) =>
    atMost(clock, ms, async () => {
      while (!done()) await new Promise<void>((wake) => quiet.push(wake));
    });

  function callOne(to: Address, hosted: Hosted, name: string, method: Method, raw: unknown): Promise<unknown> {
    const input: unknown = parse(method.input, raw);
    counters.calls += 1;
    return enqueue(to, hosted, name, ({ turn }) => handlerOf(hosted, name)(input, turn));
  }

  /** Each input is judged alone; what is left runs as one turn. */
  async function callMany(
    to: Address,
    hosted: Hosted,
    name: string,
    method: Method,
    max: number,
    raw: unknown,
  ): Promise<Settled[]> {
    if (!Array.isArray(raw) || raw.length === 0 || raw.length > max)
      throw validationFailed([
        { field: 'inputs', message: `${name} takes a list of 1 to ${max} inputs`, rule: 'too_big' },
      ]);
    const settled: Settled[] = [];
    const inputs: unknown[] = [];
    const places: number[] = [];
    for (const [place, one] of raw.entries()) {
      try {
        inputs.push(parse(method.input, one));
        places.push(place);
      } catch (error) {
        settled[place] = failed(travelling(error));
      }
    }
    counters.calls += 1;
    if (inputs.length === 0) return settled;
    counters.batches += 1;
    counters.batchedInputs += inputs.length;

    let answers: unknown;
    try {
      answers = await enqueue(to, hosted, name, ({ turn }) => handlerOf(hosted, name)(inputs, turn));
    } catch (error) {
      const known = travelling(error);
      if (known.code === 'draining' || known.code === 'busy') throw known; // nothing ran, or not here: for the engine
      for (const place of places) settled[place] = failed(known);
      return settled;
    }
    const list: unknown[] = Array.isArray(answers) ? answers : [];
    if (list.length !== inputs.length)
      log.error(
        { type: to.type, id: to.id, turn: name, inputs: inputs.length, answers: list.length },
        'A batched method did not answer every input',
      );
    places.forEach((place, n) => {
      const answer = list[n];
      if (n >= list.length) settled[place] = failed(new AppError('internal', INTERNAL));
      else
        settled[place] = answer instanceof Error ? failed(asTravelling(to, name, answer)) : { ok: true, value: answer };
    });
    return settled;
  }

  function asTravelling(to: Address, name: string, error: Error): AppError {
    if (!(error instanceof AppError))
      log.error({ err: error, type: to.type, id: to.id, turn: name }, 'An input of a batch failed');
    return travelling(error);
  }

  /** Throws what is refused before a turn. */
  function callNow(to: Address, name: string, input: unknown): Promise<unknown> {
    const hosted = hostedOf(to);
    const method = methodOf(hosted.implementation.contract, name);
    if (!method) throw notFound(`${to.type} has no method ${name}`);
    return method.batched
      ? callMany(to, hosted, name, method, method.batched.max, input)
      : callOne(to, hosted, name, method, input);
  }

  const kindOf = (type: string, name: string): ReminderKind | undefined => {
    const reminders = types.get(type)?.implementation.contract.reminders;
    return reminders && Object.hasOwn(reminders, name) ? reminders[name] : undefined;
  };

  function runReminder({ to, name, data }: Fired, begun?: () => void): Promise<unknown> {
    const hosted = hostedOf(to);
    const handler = kindOf(to.type, name) && hosted.implementation.spec.reminders[name];
    if (!handler) throw notFound(`${to.type} has no reminder ${name}`);
    return enqueue(to, hosted, name, async ({ turn }) => {
      begun?.();
      await handler(turn, data);
    });
  }

  const nudges = noteNudges({
    atWork: limits.nudgesAtWork,
    waiting: limits.nudgesWaiting,
    async work(nudge, begun) {
      // What fails is logged by its turn; its row and the scan of the reconciler bring it back, some ten seconds later.
      // A connection to the database that was lost is there again sooner.
      const run = async () => void (await runReminder(nudge, begun));
      const refused = await run().catch(asAppError);
      if (refused?.code === 'unavailable')
        await clock
          .sleep(NUDGE_AGAIN_MS)
          .then(run)
          .catch(() => {});
      if (refused?.code === 'busy')
        log.warn({ type: nudge.to.type, id: nudge.to.id, reminder: nudge.name }, 'A nudge found the mailbox full');
    },
  });

  /** Deactivates who had no turn for long, and tells of turns that last too long. */
  function lookRound(): void {
    const now = clock.monotonic();
    for (const box of atWork) {
      if (!box.slow && box.job && now - box.since > limits.turnMs) {
        box.slow = true;
        log.warn({ type: box.to.type, id: box.to.id, turn: box.job.what }, 'A turn lasts too long');
      }
    }
    for (const box of mailboxes.values()) {
      if (atWork.has(box) || now - box.since <= limits.idleMs) continue;
      drop(box);
      mailboxes.delete(box.key);
    }
  }

  return {
    types: [...types.keys()],
    counters,
    attach(engine) {
      ports = engine;
      sweep ??= setInterval(lookRound, Math.max(20, Math.min(limits.turnMs, limits.idleMs / 2, 10_000))).unref();
    },
    call(to, method, input, commandId) {
      try {
        if (commandId === undefined) return callNow(to, method, input);
        return commands.once(
          `${addressKey(to.type, to.id)} ${method} ${commandId}`,
          async () => callNow(to, method, input),
          () => void (counters.repeatedCommands += 1),
        );
      } catch (error) {
        return Promise.reject(error);
      }
    },
    async fire(to, name, data, owner) {
      if (refusing) throw draining();
      hostedOf(to);
      const kind = kindOf(to.type, name);
      if (!kind) throw notFound(`${to.type} has no reminder ${name}`);
      if (kind.isNudge) {
        nudges.note({ to, name, data, owner });
        counters.nudges += 1;
        return;
      }
      counters.reminders += 1;
      await runReminder({ to, name, data, owner });
    },
    isNudge: (type, name) => kindOf(type, name)?.isNudge === true,
    async deactivate(of) {
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
    },
    activations: () => Object.fromEntries([...types].map(([type, { active }]) => [type, active])),
    mailboxes() {
      const answer: Record<string, { queued: number; longest: number }> = {};
      for (const type of types.keys()) answer[type] = { queued: 0, longest: 0 };
      for (const { to, queue } of atWork) {
        const depth = answer[to.type]!;
        depth.queued += queue.length;
        depth.longest = Math.max(depth.longest, queue.length);
      }
      return answer;
    },
    refuse() {
      refusing = true;
      clearInterval(sweep);
      const back = nudges.takeAll();
      for (const box of atWork) for (let job = box.queue.shift(); job; job = box.queue.shift()) job.reject(draining());
      return back;
    },
    async settle() {
      await waitFor(limits.turnMs, () => atWork.size === 0);
      await waitFor(limits.backgroundMs, () => background.size === 0);
      return { turns: atWork.size, background: background.size };
    },
  };
}
