import { z } from 'zod';

/** `batched`: concurrent calls to one actor travel as one call of at most `max` inputs and run as one turn. */
export interface Method {
  readonly input: z.ZodType;
  readonly output: z.ZodType;
  readonly batched?: { readonly max: number };
}
export type Methods = Readonly<Record<string, Method>>;
export type Input<M extends Method> = z.output<M['input']>;
export type Output<M extends Method> = z.output<M['output']>;

/** The output of a method that answers nothing. */
export const nothing = z.undefined();
/** Declares a method. Input and output cross processes as JSON: dates are `z.coerce.date()`. */
export const method = <I extends z.ZodType, O extends z.ZodType = typeof nothing, B extends { batched?: { max: number } } = {}>(
  spec: { input: I; output?: O } & B,
) => ({ output: nothing as z.ZodType as O, ...spec }) as { input: I; output: O } & B;

/** All that a caller may know: the type's name (a string that outlives any renaming) and its methods. */
export interface ActorContract<M extends Methods = Methods> {
  readonly type: string;
  readonly methods: M;
}
export const actorContract = <const M extends Methods>(type: string, methods: M): ActorContract<M> => ({ type, methods });

export type Caller<M extends Methods> = { readonly [K in keyof M]: (input: z.input<M[K]['input']>) => Promise<Output<M[K]>> };
/** The only way to an actor. Nobody imports an implementation, nobody names an engine. */
export type Actors = <M extends Methods>(contract: ActorContract<M>, id: string) => Caller<M>;
