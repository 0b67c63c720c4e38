import type { z } from 'zod';
import type { AppError } from '../kernel/index.ts';
import type { ActorContract, Actors, Caller, Input, Method, Methods, Output, ReminderName } from './contract.ts';

/** What a handler may do. Everything in here ends within milliseconds; what does not, goes `beside`. */
export interface Turn<C extends ActorContract, S, Memory, Needs> {
  readonly id: string;
  readonly ctx: Needs;
  /** Only in this direction: Post → Channel → Organization. The other way goes by `remindOther` or a row. */
  readonly actors: Actors;
  /** Loaded before the turn, written at its end, dropped when it throws. */
  state: S;
  /** Rebuilt from rows on activation, and after a turn that threw. */
  readonly memory: Memory;
  readonly remind: (name: ReminderName<C>, due: Date, hint?: Hint) => Promise<void>;
  readonly forget: (name: ReminderName<C>) => Promise<void>;
  /** Another actor's reminder; for work beside the turn, too. A lost one is a delay: the reconciler finds the row. */
  readonly remindOther: <Name extends string>(
    contract: ActorContract<Methods, Name>,
    id: string,
    name: NoInfer<Name>,
    due: Date,
    hint?: Hint,
  ) => Promise<void>;
  /** Starts when the turn has ended well; has no state and reports through `self`, in a new turn. */
  readonly beside: (work: (self: Caller<C['methods']>) => Promise<void>) => void;
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

export interface ActorSpec<M extends Methods, Name extends string, S extends z.ZodType, Memory, Needs> {
  state: S;
  memory?: (start: { id: string; ctx: Needs }) => Promise<Memory>;
  methods: { [K in keyof M]: Handler<M[K], Turn<ActorContract<M, Name>, z.output<S>, Memory, Needs>> };
  reminders: {
    [K in Name]: (turn: Turn<ActorContract<M, Name>, z.output<S>, Memory, Needs>, data: unknown) => Promise<void>;
  };
}

/** `Needs` names the few parts of the context that this actor uses, so that a test can hand them in. */
export const implementFor =
  <Needs, Memory = undefined>() =>
  <M extends Methods, Name extends string, S extends z.ZodType>(
    contract: ActorContract<M, Name>,
    spec: ActorSpec<M, Name, S, Memory, Needs>,
  ) => ({
    contract,
    spec,
  });

/** An actor as a host sees it: any contract, any needs. What `implementFor` made is one of these. */
export interface Implementation {
  readonly contract: ActorContract;
  // oxlint-disable-next-line typescript/no-explicit-any -- the types of one actor end here; the host validates at the contract
  readonly spec: ActorSpec<any, string, any, any, any>;
}
