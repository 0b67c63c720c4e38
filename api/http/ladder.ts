import { validateHeaderValue } from 'node:http';
import { Readable } from 'node:stream';
import type { Context } from '../../src/context.ts';
import type { Limiter } from '../../src/platform/flow/index.ts';
import { asCallerError } from '../../src/platform/db/index.ts';
import { AppError } from '../../src/platform/kernel/index.ts';
import { prefersHtml } from './accept.ts';
import { sendJson, sendRaw } from './answer.ts';
import { placeForWork } from './at-work.ts';
import { authenticate } from './authenticate.ts';
import { isBodyless, readJson } from './body.ts';
import type { CookieWriter } from './cookies.ts';
import { checkCsrf } from './csrf.ts';
import { tellDeprecation } from './deprecation.ts';
import { auditActor } from './audit-actor.ts';
import { refusalText } from './errors.ts';
import { isUnchangedList } from './etag.ts';
import type { Exchange } from './exchange.ts';
import { claim, type Claimed, complete, holdClaim } from './idempotency.ts';
import { type LargeBodies, placeForBody } from './large-bodies.ts';
import { permit } from './permit.ts';
import type { AnyRoute, IdempotencyClaim, Reply, Room } from './route.ts';
import { sendEvents, wantsEvents } from './server-events.ts';
import { challengeOf, checkSurfaceHost } from './surface.ts';
import { throttle } from './throttle.ts';
import { validate } from './validate.ts';

/** The tools that every rung may use. */
export interface Tools {
  context: Context;
  /** The rooms that the handlers of a route are given. */
  roomsOf: (route: AnyRoute) => Readonly<Record<string, unknown>>;
  routes: readonly AnyRoute[];
  writeCookie: CookieWriter;
  /** Judge each answer by its schema: for tests, which then see an answer that breaks its declaration as a 500. */
  checkAnswers: boolean;
  /** Milliseconds for a whole JSON body. */
  bodyMs: number;
  /** Places for bodies that are larger than most. */
  largeBodies: LargeBodies;
  /** Places for handlers. */
  atWork: Limiter;
  /** The place for lists of any length. */
  wholeLists: Limiter;
}

/** Chooses the rooms of a route out of all there are, once. */
export function openRooms(context: Context): Tools['roomsOf'] {
  const known = new Map<AnyRoute, Readonly<Record<string, unknown>>>();
  return (route) => {
    const rooms = known.get(route) ?? Object.fromEntries(route.rooms.map((room: Room) => [room, context[room]]));
    known.set(route, rooms);
    return rooms;
  };
}

/** The status of a success by S2, unless the route or its handler says otherwise. */
export const successStatus = ({ method, path, creates, accepted }: AnyRoute): number =>
  accepted === 'always' ? 202 : creates || (method === 'post' && path.startsWith('/public/v1/')) ? 201 : 200;

function replyOf(exchange: Exchange, writeCookie: CookieWriter): Reply {
  const { headers, cookiesToSet } = exchange;
  return {
    cookie: (name, value, options) => void cookiesToSet.set(name, writeCookie(name, value, options)),
    header(name, value) {
      // here, where the handler's mistake becomes a 500, and not while the answer is written
      validateHeaderValue(name, value);
      headers[name.toLowerCase()] = value;
    },
    status: (code) => void (exchange.status = code),
  };
}

/**
 * The ladder, in the order of S15; the request has its id and its headers already, and what is thrown here is answered
 * by `refuse`.
 */
export async function climb(exchange: Exchange, route: AnyRoute, tools: Tools): Promise<void> {
  const { context, writeCookie } = tools;
  const readBody = async () =>
    (
      await (exchange.body ??= readJson(
        exchange.request.stream,
        route.bodyLimit,
        tools.bodyMs,
        route.input === 'json-or-form',
      ))
    ).value;
  exchange.route = route;
  tellDeprecation(exchange, route);
  if (route.surface) checkSurfaceHost(exchange.request, context.config.http);
  try {
    await authenticate(exchange, route, context, writeCookie);
  } catch (error) {
    // its credential is right: it counts as what is answered to it otherwise, and is told what is left (T17)
    if (error instanceof AppError && error.code === 'no_subscription') await throttle(exchange, route, context);
    throw error;
  }
  if (route.method !== 'get' || route.csrf === 'origin') await checkCsrf(exchange, route, context, readBody);
  const readInput = async () => {
    const body =
      route.input === 'stream'
        ? undefined
        : route.method === 'get' && isBodyless(exchange.request.stream)
          ? {}
          : await readBody();
    return validate(route, { body, search: exchange.search, params: exchange.params });
  };
  // a body that is refused is refused below, and counts for the route
  const early = route.buckets && (await readInput().catch(() => undefined));
  await throttle(exchange, route, context, early && route.buckets!(early.body));
  permit(route, exchange.principal);
  using _body = await placeForBody(exchange, route, tools.largeBodies);
  const input = early ?? (await readInput());
  using work = await placeForWork(exchange, route, tools.atWork);
  const { claim: mine, stored }: Claimed = route.idempotent ? await claim(exchange, route, context) : {};
  if (stored) {
    exchange.headers['idempotency-replayed'] = 'true';
    return sendJson(exchange, stored.status, stored.reply);
  }
  using _held = mine && holdClaim(mine, context);
  await noteImpersonated(exchange, route, context);
  try {
    await perform(exchange, route, tools, { input, mine, work });
  } catch (thrown) {
    if (mine) await completeRefused(exchange, thrown, mine, context);
    throw thrown;
  }
}

/**
 * Notes what is done as somebody else: each change, and each read once a route and minute, so that a page that polls
 * does not fill the log.
 */
async function noteImpersonated(exchange: Exchange, route: AnyRoute, { admin, cache }: Context): Promise<void> {
  const { principal } = exchange;
  if (!principal?.impersonatorId) return;
  const act = { method: route.method.toUpperCase(), route: route.path };
  const reader = `impersonation|${principal.impersonatorId}|${principal.userId}|${principal.orgId}|${act.method} ${act.route}`;
  if (route.method === 'get' && !(await cache.hit(reader, 1, 60_000)).allowed) return;
  await admin.impersonations.note(auditActor(exchange), principal.orgId, act);
}

async function perform(
  exchange: Exchange,
  route: AnyRoute,
  tools: Tools,
  given: { input: ReturnType<typeof validate>; mine: IdempotencyClaim | undefined; work: Disposable | undefined },
): Promise<void> {
  const { input, mine, work } = given;
  const { context } = tools;
  const call = {
    rooms: tools.roomsOf(route),
    actors: context.actors,
    routes: tools.routes,
    principal: exchange.principal!, // absent only on routes for everybody, whose handlers do not ask
    ...input,
    request: exchange.request,
    reply: replyOf(exchange, tools.writeCookie),
    idempotency: mine,
  };
  if (route.page && prefersHtml(exchange.request.headers['accept'])) {
    const html = await route.page(call);
    return sendRaw(exchange, exchange.status ?? 200, html);
  }
  if (route.csv && call.query.format === 'csv') {
    call.reply.header('Content-Type', 'text/csv; charset=utf-8; header=present');
    call.reply.header('Content-Disposition', 'attachment');
    return sendFile(200, Readable.from(route.csv(call)));
  }
  const { headers, method } = exchange.request;
  if (route.events && method !== 'HEAD' && wantsEvents(headers['accept'], route.isStream)) {
    const { frontendUrl } = context.config.http;
    const refusal = (error: unknown) =>
      JSON.parse(refusalText(asCallerError(error), route, exchange.request.id, frontendUrl));
    return sendEvents(exchange, (gone) => route.events!(call, gone), refusal);
  }
  if (route.revision && (await isUnchangedList(exchange, route.revision(call), context)))
    return sendJson(exchange, 304, '');
  using _alone = route.isWhole?.(call) ? await tools.wholeLists.enter(call.principal.orgId) : undefined;
  const result: unknown = await route.handle(call);
  const answer: unknown = route.present(result);
  const status = exchange.status ?? successStatus(route);
  if (route.output === 'text' || route.output === 'bytes')
    return sendFile(status, answer as string | Uint8Array | Readable);
  if (tools.checkAnswers && status !== 304) route.answer.parse(answer);
  const text = JSON.stringify(answer);
  if (mine) await complete(mine, { status, reply: text }, context);
  sendJson(exchange, status, text);

  /** Whoever reads it slowly keeps no other handler from working. */
  function sendFile(code: number, body: string | Uint8Array | Readable): Promise<void> {
    work?.[Symbol.dispose]();
    return sendRaw(exchange, code, body);
  }
}

async function completeRefused(
  exchange: Exchange,
  thrown: unknown,
  mine: IdempotencyClaim,
  context: Context,
): Promise<void> {
  const error = asCallerError(thrown);
  const reply = refusalText(error, undefined, exchange.request.id, context.config.http.frontendUrl);
  await complete(mine, { status: error.status, reply, passing: 'retryAfterMs' in error.extra }, context);
}

/** Answers any thrown value: the body of S3, and `Retry-After` where waiting helps. */
export function refuse(exchange: Exchange, thrown: unknown, { context }: Tools): AppError {
  const { response, request, headers } = exchange;
  const error = asCallerError(thrown);
  if (response.headersSent) {
    response.destroy(); // a stream broke off: the client must not take it for whole
    return error;
  }
  const { retryAfterMs } = error.extra;
  if (typeof retryAfterMs === 'number') headers['retry-after'] = Math.ceil(retryAfterMs / 1000);
  // they described the answer that did not come about
  for (const name of ['content-type', 'etag', 'cache-control']) delete headers[name];
  if (exchange.route?.errors) {
    headers['cache-control'] = 'no-store'; // RFC 6749 5.2
    headers['pragma'] = 'no-cache';
    if (error.status === 401 && request.headers['authorization'] !== undefined)
      headers['www-authenticate'] = 'Basic realm="oauth"';
  }
  const challenge = error.status === 401 ? challengeOf(exchange, context.config.http) : undefined;
  if (challenge !== undefined) headers['www-authenticate'] = challenge;
  sendJson(exchange, error.status, refusalText(error, exchange.route, request.id, context.config.http.frontendUrl));
  return error;
}
