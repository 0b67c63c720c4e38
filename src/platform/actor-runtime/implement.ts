import type { z } from 'zod';
import type { AppError } from '../kernel/index.ts';
import type { ActorContract, Actors, Caller, Input, Method, Methods, Output } from './contract.ts';

/** What a handler may do. Everything in here ends within milliseconds; what does not, goes `beside`. */
export interface Turn<M extends Methods, S, Memory, Needs> {
  readonly id: string;
  readonly ctx: Needs;
  /** Only in this direction: Post → Channel → Organization. The other way goes by `remindOther` or a row. */
  readonly actors: Actors;
  /** Loaded before the turn, written at its end, dropped when it throws. */
  state: S;
  /** Rebuilt from rows on activation, and after a turn that threw. */
  readonly memory: Memory;
  readonly remind: (name: string, due: Date, hint?: Hint) => Promise<void>;
  readonly forget: (name: string) => Promise<void>;
  /** Another actor's reminder; for work beside the turn, too. A lost one is a delay: the reconciler finds the row. */
  readonly remindOther: (contract: ActorContract, id: string, name: string, due: Date, hint?: Hint) => Promise<void>;
  /** Starts when the turn has ended well; has no state and reports through `self`, in a new turn. */
  readonly beside: (work: (self: Caller<M>) => Promise<void>) => void;
}

/** `owner`: reminders due at one instant are dealt round robin over owners. */
export interface Hint {
  owner?: string;
  data?: unknown;
}

/** One result or one error for each input, in order. */
export type Each<T> = readonly (T | AppError)[];

type Handler<M extends Method, T> = M extends { batched: object }
  ? (inputs: readonly Input<M>[], turn: T) => Promise<Each<Output<M>>>
  : (input: Input<M>, turn: T) => Promise<Output<M>>;

export interface Remembered<T> {
  (turn: T, data: unknown): Promise<void>;
  readonly nudge?: true;
}
/** A reminder that is answered at once and worked off from a bounded queue; beyond the bound the policy brings it back. Only where a row and a scan of the reconciler carry the guarantee. */
export const nudge = <T>(handler: (turn: T, data: unknown) => Promise<void>): Remembered<T> =>
  Object.assign((turn: T, data: unknown) => handler(turn, data), { nudge: true } as const);

export interface ActorSpec<M extends Methods, S extends z.ZodType, Memory, R extends string, Needs> {
  state: S;
  memory?: (start: { id: string; ctx: Needs }) => Promise<Memory>;
  methods: { [K in keyof M]: Handler<M[K], Turn<M, z.output<S>, Memory, Needs>> };
  reminders: { [K in R]: Remembered<Turn<M, z.output<S>, Memory, Needs>> };
}

/** `Needs` names the few parts of the context that this actor uses, so that a test can hand them in. */
export const implementFor =
  <Needs, Memory = undefined>() =>
  <M extends Methods, S extends z.ZodType, R extends string>(contract: ActorContract<M>, spec: ActorSpec<M, S, Memory, R, Needs>) => ({ contract, spec });

/** An actor as a host sees it: any contract, any needs. What `implementFor` made is one of these. */
export interface Implementation {
  readonly contract: ActorContract;
  // oxlint-disable-next-line typescript/no-explicit-any -- the types of one actor end here; the host validates at the contract
  readonly spec: ActorSpec<any, any, any, string, any>;
}
