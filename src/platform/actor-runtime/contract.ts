import { z } from 'zod';
import type { Reminder } from './address.ts';

/**
 * `batched`: concurrent calls to one actor travel as one call of at most `max` inputs and run as one turn.
 * `neighbours`: other applications beside a sidecar may call it, with this input; absent: they may not.
 */
export interface Method {
  readonly input: z.ZodType;
  readonly output: z.ZodType;
  readonly batched?: { readonly max: number };
  readonly neighbours?: z.ZodType;
}
export type Methods = Readonly<Record<string, Method>>;
export type Input<M extends Method> = z.output<M['input']>;
export type Output<M extends Method> = z.output<M['output']>;

/** The output of a method that answers nothing. */
export const nothing = z.undefined();
/** Declares a method. Input and output cross processes as JSON: dates are `z.coerce.date()`. */
export const method = <
  I extends z.ZodType,
  O extends z.ZodType = typeof nothing,
  B extends { batched?: { max: number }; neighbours?: z.ZodType } = {},
>(
  spec: { input: I; output?: O } & B,
) => ({ output: nothing as z.ZodType as O, ...spec }) as { input: I; output: O } & B;

export interface ReminderKind {
  readonly isNudge: boolean;
}
/** A reminder that is gone when its turn has ended, and comes again until one ended well. */
export const reminder: ReminderKind = { isNudge: false };
/**
 * A reminder that is answered at once and worked off from a bounded queue; beyond the bound the policy brings it back.
 * Only where a row and a scan of the reconciler carry the guarantee.
 */
export const nudge: ReminderKind = { isNudge: true };
export type Reminders<Name extends string = string> = Readonly<Record<Name, ReminderKind>>;

/**
 * All that others may know: the type's name (a string that outlives any renaming), its methods, and the reminders that
 * can be set.
 */
export interface ActorContract<M extends Methods = Methods, Name extends string = string> {
  readonly type: string;
  readonly methods: M;
  readonly reminders: Reminders<Name>;
}
export const actorContract = <const M extends Methods, Name extends string = never>(
  type: string,
  { methods, reminders }: { methods: M; reminders?: Reminders<Name> },
): ActorContract<M, Name> => ({ type, methods, reminders: reminders ?? ({} as Reminders<Name>) }); // without names there is none

/** The reminders of a contract. */
export type ReminderName<C extends ActorContract> = keyof C['reminders'] & string;
/** A reminder of any actor, as an engine registers it. */
export const reminderOf = <Name extends string>(
  { type }: ActorContract<Methods, Name>,
  id: string,
  name: NoInfer<Name>,
  due: Date,
  hint: Pick<Reminder, 'owner' | 'data'> = {},
): Reminder => ({ type, id, name, due, ...hint });

export type Caller<M extends Methods> = {
  readonly [K in keyof M]: (input: z.input<M[K]['input']>) => Promise<Output<M[K]>>;
};
/** The only way to an actor. Nobody imports an implementation, nobody names an engine. */
export type Actors = <M extends Methods>(contract: ActorContract<M>, id: string) => Caller<M>;
