import type { z } from 'zod';
import type { Surface } from '../../src/oauth-server/index.ts';
import type { Permission, Scope } from '../../src/people/access/index.ts';
import type { Call, Room } from '../http/route.ts';
import type { NextBy } from './result.ts';

/** The argument of a tool: the call of a route, with `input` in the place of body, query and parameters. */
export type ToolCall<R extends Room, I = unknown> = Omit<Call<R>, 'params' | 'body' | 'query' | 'idempotency'> & {
  input: I;
};

/**
 * A resource of MCP: a URI template (RFC 6570, level 1) with one place at most. A tool that takes `cursor` is read a part
 * at a time.
 */
export interface Address {
  template: string;
  name: string;
  /** Those of the tool, unless they are said. */
  title?: string;
  description?: string;
}

/** A tool that agents call. It calls the service that its route calls, and answers in the shapes of `api/resources`. */
export interface ToolDeclaration<R extends Room, I extends z.ZodObject, O extends z.ZodObject> {
  /** `verb_noun`. */
  name: string;
  /** The name that prompts in the field use already: both are listed and act the same. */
  alias?: string;
  title: string;
  /** For a model: what it does, and what to call before or after it. */
  description: string;
  /** The address at which agents may read its answer. */
  readAt?: Address;
  surfaces: readonly Surface[];
  /** The scope that a call needs; one with `mcp:read` changes nothing. */
  scope: Scope;
  /** The scope where the organization lets who may only read propose posts (S201). */
  scopeOfProposals?: Scope;
  /** Refused as a fault of the tool. */
  permission?: Permission;
  input: I;
  output: O;
  /** The places of the answer whose text comes from outside, as JSON pointers in which `*` is any element or key. */
  untrusted?: readonly string[];
  /** The input that takes the `nextCursor` of an answer, where it is not `cursor`. */
  nextBy?: NextBy;
  run(call: ToolCall<R, z.output<I>>): Promise<z.input<O>>;
}

export interface Tool<
  R extends Room,
  I extends z.ZodObject = z.ZodObject,
  O extends z.ZodObject = z.ZodObject,
> extends ToolDeclaration<R, I, O> {
  rooms: readonly R[];
}

// oxlint-disable-next-line typescript/no-explicit-any -- a list of tools of all shapes; each was checked where it was declared
export type AnyTool = Tool<any, any, any>;

/** `tool` for one file, which is given these rooms and no others. */
export const toolsOf =
  <R extends Room = never>(...rooms: readonly R[]) =>
  <I extends z.ZodObject, O extends z.ZodObject>(declaration: ToolDeclaration<R, I, O>): Tool<R, I, O> => ({
    ...declaration,
    rooms,
  });

/** The call of a route's handler that a tool makes. */
export const asCall = <R extends Room, B = undefined, Q = undefined, P = unknown>(
  call: ToolCall<R>,
  parts: { body?: B; query?: Q; params?: P },
): Call<R, B, Q, P> => ({
  ...call,
  body: parts.body as B, // absent where the handler's type has none
  query: parts.query as Q,
  params: parts.params as P,
  idempotency: undefined,
});
