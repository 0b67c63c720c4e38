import type { z } from 'zod';
import type { Permission, Scope } from '../../src/people/access/index.ts';
import type { Actors } from '../../src/platform/actor-runtime/index.ts';
import type { HeldLimits, Tier } from '../../src/entitlements/index.ts';
import type { Context } from '../../src/context.ts';
import type { Surface } from '../../src/oauth-server/index.ts';
import type { ServerEvent } from './server-events.ts';

/** `session`: cookie or `auth` header. `super-admin`: a session of a super-admin. */
export type AuthKind = 'session' | 'api-key' | 'oauth' | 'super-admin' | 'none';
export type PlanLimit =
  | 'channel'
  | 'team_members'
  | 'posts_per_month'
  | 'brand_kits'
  | 'webhooks'
  | 'competitors'
  | 'storage_gb'
  | 'video_exports'
  | 'ai_budget'
  | 'campaigns'
  | 'api'
  | 'mcp';

export type Impersonation = 'allowed' | 'refused' | 'ignored';

/** The caller. `orgId` is the one that the credential selects; every statement of a handler names it. */
export interface Principal {
  kind: 'session' | 'api-key' | 'oauth';
  userId: string;
  orgId: string;
  roleKey: string;
  permissions: ReadonlySet<Permission>;
  isSuperAdmin: boolean;
  sessionId?: string;
  apiKeyId?: string;
  /** Of an OAuth token. */
  tokenId?: string;
  /** What a person approved, for an OAuth token. */
  authorizationId?: string;
  /** The name of the key, or of the app that has the token. */
  program?: string;
  /** The name under which it acts as an agent, by a tool of MCP. */
  agent?: string;
  /** What the key, or the app that has the token, may do at most. */
  limits?: HeldLimits | null | undefined;
  /** For an OAuth token: what its client may do at most. */
  scopes?: ReadonlySet<Scope>;
  /** For a client (API key or OAuth token): the plan under which it works. */
  plan?: Tier;
  /** The super-admin who acts as this user (S212). */
  impersonatorId?: string;
}

/** The claim that the ladder hands to the effect of a creating request, to be written in the same commit (S18). */
export interface IdempotencyClaim {
  orgId: string;
  scope: string;
  key: string;
  claim: string;
}

export interface Request {
  id: string;
  method: string;
  /** As it was sent: with `/api` in front where it was there, and with the query. */
  url: string;
  path: string;
  ip: string;
  userAgent: string;
  headers: Readonly<Record<string, string | undefined>>;
  cookies: Readonly<Record<string, string>>;
  /** Aborted when this process listens no longer: streams to clients end. */
  ending: AbortSignal;
  /** The raw stream, for uploads. */
  stream: import('node:http').IncomingMessage;
}

/** Sets what an answer carries beside its result. */
export interface Reply {
  cookie(name: string, value: string | null, options?: { maxAgeSeconds?: number; httpOnly?: boolean }): void;
  header(name: string, value: string): void;
  /** In place of the status of S2; 304 sends no body. */
  status(code: number): void;
}

/** The parts of the context that a handler may ask for: rooms have the statements, so the pool is none of them. */
export type Room = Exclude<keyof Context, 'sql'>;

/** The parameters of a path: `{ id: string }` of `/posts/:id/retry`. */
export type ParamsOf<Path extends string> = Path extends `${string}/:${infer Name}/${infer Rest}`
  ? Readonly<Record<Name, string>> & ParamsOf<`/${Rest}`>
  : Path extends `${string}/:${infer Name}`
    ? Readonly<Record<Name, string>>
    : unknown;

/** The argument of a handler. */
export interface Call<R extends Room, B = undefined, Q = undefined, P = unknown> {
  /** The rooms that its file has declared, and no others. */
  rooms: Pick<Context, R>;
  actors: Actors;
  /** Every route of this app. */
  routes: readonly AnyRoute[];
  /** Present on every route whose `auth` is not `none`. */
  principal: Principal;
  params: P;
  body: B;
  query: Q;
  request: Request;
  reply: Reply;
  idempotency: IdempotencyClaim | undefined;
}
/** The caller with the request. */
export type Caller = Pick<Call<never>, 'principal' | 'request'>;

/**
 * A route is data. `mount.ts` climbs one ladder for all of them; OpenAPI, the permission matrix and the tenant test are
 * read from here.
 */
export interface Declaration<
  R extends Room,
  Path extends `/${string}`,
  B extends z.ZodType,
  Q extends z.ZodType,
  P extends z.ZodType,
  Answer extends z.ZodType,
  Result,
> {
  method: 'get' | 'post' | 'put' | 'patch' | 'delete';
  /** Express-free: `/posts/:id`. Fixed segments win over parameters. */
  path: Path;
  /** For OpenAPI: imperative, 2 to 10 words, the RFC in brackets. */
  summary: string;
  /** For OpenAPI: what else a caller has to know, in sentences. */
  description?: string;
  auth: readonly [AuthKind, ...AuthKind[]];
  /** Refused with 403, by the ladder. */
  permission?: Permission;
  /** Another one that is let in as well: which of both a request needs, its handler says (`requirePermission`). */
  orPermission?: Permission;
  /** Refused with 402 in the turn that counts. Here it is only declared. */
  planLimit?: PlanLimit;
  /** Requests per window and caller; default `API_LIMIT` per hour. `none` only for health. */
  limit?: `${number}/${'minute' | 'hour'}` | 'none';
  /** `ip`: this route counts by address even for a known caller. `person`: by user, whatever the organization. */
  limitBy?: 'caller' | 'ip' | 'person';
  /** The path whose limit it shares: it is the same route at another path. */
  countedAs?: `/${string}`;
  /** The buckets that a request counts in by what its body asks for, in the place of that of the route. */
  buckets?(body: z.output<B>): readonly string[];
  /**
   * An MCP surface (S196 to S199): its host is judged before its credential, which may be the `:id` of the path, and
   * scope, plan and permission are judged for each message by `api/mcp`.
   */
  surface?: Surface;
  /** Honours `Idempotency-Key` (S18). */
  idempotent?: boolean;
  /** Default by S2: 201 for POST below /public/v1, else 200; 201 where `creates`. */
  creates?: boolean;
  /**
   * A success of 202. `always`: in the place of the status of S2. The one of the answers of a union that comes with it,
   * once its handler says so: where the client does not want to wait (`Prefer`, RFC 7240), or the work takes too long.
   */
  accepted?: 'always' | z.ZodType;
  /** Without one the body must be absent or `{}`. */
  body?: B;
  /** Bytes of a JSON body; 2 MB unless said (S8). */
  bodyLimit?: number;
  /** Keys that it does not name are ignored, `strictObject` or not (S7). */
  query?: Q;
  /**
   * `params`: a verified extension token in `body.params` stands in for the header (S11). `refresh-cookie`: checked
   * when the cookie `refresh` is what the route acts on (S39). `origin`: a GET that writes, which by cookie only pages
   * of the console may send.
   */
  csrf?: 'params' | 'refresh-cookie' | 'origin';
  /**
   * Default: of a parameter called `id`, or ending in `Id`, a text that cannot be an id reaches the handler as an id
   * that no row has.
   */
  params?: P;
  /**
   * `json` is parsed by the ladder, and where it says so the form that OAuth libraries send; `stream` is left to the
   * handler.
   */
  input?: 'json' | 'json-or-form' | 'stream';
  /**
   * The form of the answer; `text` and `bytes` (a Uint8Array or a Readable, with its own `content-type` header) skip
   * JSON.
   */
  output?: 'json' | 'text' | 'bytes';
  /** For OpenAPI: the type of an answer that is not JSON, where its form does not tell. */
  mediaType?: 'text/html' | 'text/csv' | 'text/calendar' | 'text/event-stream';
  /**
   * Refusals as OAuth clients know them, `{error, error_description}`, by RFC 6749 or, when a client registers, RFC
   * 7591.
   */
  errors?: 'oauth' | 'registration';
  /** The page that a browser gets when it navigates here (`Accept` prefers HTML). */
  page?(call: Call<R, z.output<B>, z.output<Q>, z.output<P>>): Promise<string>;
  /**
   * The same as server-sent events, for `Accept: text/event-stream`; the last one says that the answer is whole. The
   * first signal says that the client is gone, the second one that this process ends: events without an end stop then.
   */
  events?(call: Call<R, z.output<B>, z.output<Q>, z.output<P>>, gone: AbortSignal): AsyncIterable<ServerEvent>;
  /** Events are what it is for: they are the answer unless JSON is asked for by name, or `always`. */
  isStream?: boolean | 'always';
  /** The same as a file, for `?format=csv`, which the query declares: text piece by piece. */
  csv?(call: Call<R, z.output<B>, z.output<Q>, z.output<P>>): AsyncIterable<string>;
  /**
   * Of a list that changes only with what the change counter of the organization counts: it is answered with an `ETag`,
   * and with 304 before it is read where the client has it already. Answers what it depends on beside its query, such
   * as the clock.
   */
  revision?(call: Call<R, z.output<B>, z.output<Q>, z.output<P>>): string;
  /**
   * Whether a list is asked for as a whole, of whatever length: a process makes one at a time, for organizations in
   * turn, and refuses with 503 `busy` where too many wait.
   */
  isWhole?(call: Call<R, z.output<B>, z.output<Q>, z.output<P>>): boolean;
  /**
   * The route is to be removed: since when clients are told so, and the day from which it may be gone, at least 180 days
   * later (S22). Both as `YYYY-MM-DD`.
   */
  deprecated?: { since: string; sunset: string };
  /**
   * Says whether a super-admin may call this while acting as a user (S212). Reads are `allowed` unless declared,
   * everything else is `refused` with 403 until its declaration allows it. `ignored`: they act as themselves, as on
   * every route for super-admins.
   */
  impersonation?: Impersonation;
  answer: Answer;
  handle(call: Call<R, z.output<B>, z.output<Q>, z.output<P>>): Promise<Result>;
  present(result: Result): z.input<Answer>;
}

export interface Route<
  R extends Room,
  Path extends `/${string}`,
  B extends z.ZodType,
  Q extends z.ZodType,
  P extends z.ZodType,
  Answer extends z.ZodType,
  Result,
> extends Declaration<R, Path, B, Q, P, Answer, Result> {
  rooms: readonly R[];
}

// oxlint-disable-next-line typescript/no-explicit-any -- a list of routes of all shapes; each was checked where it was declared
export type AnyRoute = Route<any, `/${string}`, any, any, any, any, any>;

/** Routes at `alias` that are the same as those at `path`, and count in their buckets: a limit is not had twice. */
export const aliasesOf = <R extends AnyRoute>(path: `/${string}`, alias: `/${string}`, routes: readonly R[]): R[] =>
  routes.map((route) => ({ ...route, countedAs: `${path}${route.path.slice(alias.length)}` as const }));

/** Says what holds for a super-admin who calls this route while acting as a user. */
export const impersonationOf = ({
  method,
  auth,
  impersonation,
}: Pick<AnyRoute, 'method' | 'auth' | 'impersonation'>): Impersonation =>
  auth.includes('super-admin') ? 'ignored' : (impersonation ?? (method === 'get' ? 'allowed' : 'refused'));

/**
 * `route` for one file, whose handlers are given these rooms and no others. `route` declares a route; the types of
 * parameters, body, query and answer are inferred.
 */
export const routesOf =
  <R extends Room = never>(...rooms: readonly R[]) =>
  <
    const Path extends `/${string}`,
    Answer extends z.ZodType,
    Result,
    B extends z.ZodType = z.ZodUndefined,
    Q extends z.ZodType = z.ZodUndefined,
    P extends z.ZodType = z.ZodType<ParamsOf<Path>>,
  >(
    declaration: Declaration<R, Path, B, Q, P, Answer, Result>,
  ): Route<R, Path, B, Q, P, Answer, Result> => ({ ...declaration, rooms });
