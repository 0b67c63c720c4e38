import { asAppError, draining, notFound } from '../kernel/index.ts';
import { hasState } from './activation.ts';
import { addressKey } from './address.ts';
import { callMethod, callOpenMethod, hostedOf } from './calls.ts';
import { rememberCommands } from './commands.ts';
import type { ReminderKind } from './contract.ts';
import type { Fired, Host, HostLimits, HostOptions } from './host.ts';
import { countQueued, enqueue, refuseWaiting } from './mailbox.ts';
import { deactivate, lookRound } from './deactivate.ts';
import { settleTurns } from './quiet.ts';
import type { Turns } from './turn-state.ts';
import { noteNudges } from './nudges.ts';

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
const NUDGE_AGAIN_MS = 1_000;

/** Makes the host of one process. It starts no turn before an engine attached itself. */
export function createHost({ implementations, limits: given = {}, ...options }: HostOptions): Host {
  const { clock } = options;
  const limits: HostLimits = { ...LIMITS, ...given };
  const turns: Turns = {
    ...options,
    limits,
    types: new Map(
      implementations.map((implementation) => [
        implementation.contract.type,
        { implementation, stateful: hasState(implementation), active: 0 },
      ]),
    ),
    mailboxes: new Map(),
    atWork: new Set(),
    background: new Set(),
    counters: {
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
    },
    quiet: [],
    ports: undefined,
    refusing: false,
  };
  const { types, counters } = turns;
  const commands = rememberCommands({ max: limits.commands, ms: limits.commandMs, clock });
  const nudges = noteNudges({
    atWork: limits.nudgesAtWork,
    waiting: limits.nudgesWaiting,
    work: (nudge, begun) => workOnNudge(turns, nudge, begun),
  });
  let sweep: Disposable | undefined;

  return {
    types: [...types.keys()],
    counters,
    attach(engine) {
      turns.ports = engine;
      sweep ??= clock.every(Math.max(20, Math.min(limits.turnMs, limits.idleMs / 2, 10_000)), () => lookRound(turns));
    },
    call(to, method, input, commandId) {
      try {
        if (commandId === undefined) return callMethod(turns, to, method, input);
        return commands.once(
          `${addressKey(to.type, to.id)} ${method} ${commandId}`,
          async () => callMethod(turns, to, method, input),
          () => void (counters.repeatedCommands += 1),
        );
      } catch (error) {
        return Promise.reject(error);
      }
    },
    callByNeighbour: async (to, method, input) => callOpenMethod(turns, to, method, input),
    async fire(to, name, data, owner) {
      if (turns.refusing) throw draining();
      hostedOf(turns, to);
      const kind = kindOf(turns, to.type, name);
      if (!kind) throw notFound(`${to.type} has no reminder ${name}`);
      if (kind.isNudge) {
        nudges.note({ to, name, data, owner });
        counters.nudges += 1;
        return;
      }
      counters.reminders += 1;
      await runReminder(turns, { to, name, data, owner });
    },
    isNudge: (type, name) => kindOf(turns, type, name)?.isNudge === true,
    deactivate: (of) => deactivate(turns, of),
    activations: () => Object.fromEntries([...types].map(([type, { active }]) => [type, active])),
    mailboxes: () => countQueued(turns),
    refuse() {
      turns.refusing = true;
      sweep?.[Symbol.dispose]();
      const back = nudges.takeAll();
      refuseWaiting(turns);
      return back;
    },
    settle: () => settleTurns(turns),
  };
}

function kindOf({ types }: Turns, type: string, name: string): ReminderKind | undefined {
  const reminders = types.get(type)?.implementation.contract.reminders;
  return reminders && Object.hasOwn(reminders, name) ? reminders[name] : undefined;
}

function runReminder(turns: Turns, { to, name, data }: Fired, begun?: () => void): Promise<unknown> {
  const hosted = hostedOf(turns, to);
  const handler = kindOf(turns, to.type, name) && hosted.implementation.spec.reminders[name];
  if (!handler) throw notFound(`${to.type} has no reminder ${name}`);
  return enqueue(turns, to, hosted, name, async ({ turn }) => {
    begun?.();
    await handler(turn, data);
  });
}

/**
 * What fails is logged by its turn; its row and the scan of the reconciler bring it back, some ten seconds later. A
 * connection to the database that was lost is there again sooner.
 */
async function workOnNudge(turns: Turns, nudge: Fired, begun: () => void): Promise<void> {
  const { clock, log } = turns;
  const run = async () => void (await runReminder(turns, nudge, begun));
  const refused = await run().catch(asAppError);
  if (refused?.code === 'unavailable')
    await clock
      .sleep(NUDGE_AGAIN_MS)
      .then(run)
      .catch(() => {});
  if (refused?.code === 'busy')
    log.warn(
      { type: nudge.to.type, id: nudge.to.id, reminder: nudge.name },
      'a nudge found the mailbox full; the reconciler brings it back',
    );
}
