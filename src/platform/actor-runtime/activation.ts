import { z } from 'zod';
import { parse } from '../kernel/index.ts';
import type { Address } from './address.ts';
import { type ActorContract, type Caller, type Methods, reminderOf } from './contract.ts';
import type { HostOptions, HostPorts } from './host.ts';
import type { Implementation, Turn } from './implement.ts';

type Work = (self: Caller<Methods>) => Promise<void>;
type AnyTurn = Turn<ActorContract, unknown, unknown, unknown>;

/** One actor in memory: what its turns share until it is deactivated or a turn throws. */
export interface Activation {
  readonly turn: AnyTurn;
  /** Writes the document when it changed. True when it was written. */
  save(): Promise<boolean>;
  /** Work that the running turn put beside itself; started by the host when the turn ended well. */
  takeBesides(): readonly Work[] | undefined;
  begin(): void;
}

interface Options extends Pick<HostOptions, 'needs' | 'actors' | 'log'> {
  ports: HostPorts;
  /** Starts work at once: for a handler that goes on after its turn has ended. */
  startBeside(work: Work): void;
}

/** An actor without fields in its state has no document: nothing is loaded or written for it. */
export const hasState = ({ spec }: Implementation): boolean =>
  !(spec.state instanceof z.ZodObject) || Object.keys(spec.state.shape).length > 0;

/** Builds the memory of an actor and loads its document. */
export async function activate(
  to: Address,
  { contract, spec }: Implementation,
  stateful: boolean,
  { needs, actors, log, ports, startBeside }: Options,
): Promise<Activation> {
  let state: unknown = {};
  if (stateful) {
    const loaded = await ports.loadState(to);
    const read = spec.state.safeParse(loaded ?? {});
    if (!read.success && loaded !== undefined)
      log.warn(
        { type: to.type, id: to.id, issues: read.error.issues },
        'a stored state document does not fit its schema; the actor starts anew',
      );
    state = read.success ? read.data : parse(spec.state, {}); // never the only copy of a fact
  }
  let written = stateful ? JSON.stringify(state) : '';
  const memory: unknown = spec.memory && (await spec.memory({ id: to.id, ctx: needs }));

  let besides: Work[] | undefined;
  let inTurn = false;
  const turn: AnyTurn = {
    id: to.id,
    ctx: needs,
    actors,
    state,
    memory,
    remind: (name, due, hint) => ports.remind([reminderOf(contract, to.id, name, due, hint)]),
    forget: (name) => ports.forget(to, name),
    remindOther: (other: ActorContract, id, name, due, hint) => ports.remind([reminderOf(other, id, name, due, hint)]),
    beside(work) {
      if (inTurn) (besides ??= []).push(work);
      else startBeside(work);
    },
  };

  return {
    turn,
    begin() {
      inTurn = true;
    },
    async save() {
      const text = JSON.stringify(turn.state);
      if (text === written) return false;
      await ports.saveState(to, JSON.parse(text));
      written = text;
      return true;
    },
    takeBesides() {
      inTurn = false;
      const taken = besides;
      besides = undefined;
      return taken;
    },
  };
}

/** The contract's methods by name; never one that every object has. */
export const methodOf = (contract: ActorContract, name: string) =>
  Object.hasOwn(contract.methods, name) ? contract.methods[name] : undefined;
