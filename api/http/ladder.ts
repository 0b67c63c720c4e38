import type { Readable } from 'node:stream';
import type { Context } from '../../src/context.ts';
import { asCallerError } from '../../src/db/index.ts';
import type { AppError } from '../../src/kernel/index.ts';
import { sendJson, sendRaw } from './answer.ts';
import { authenticate } from './authenticate.ts';
import { readJson } from './body.ts';
import type { CookieWriter } from './cookies.ts';
import { checkCsrf } from './csrf.ts';
import { errorBody } from './errors.ts';
import type { Exchange } from './exchange.ts';
import { claim, settle } from './idempotency.ts';
import { permit } from './permit.ts';
import type { AnyRoute, IdempotencyClaim, Reply } from './route.ts';
import { throttle } from './throttle.ts';
import { validate } from './validate.ts';

/** What every rung may use. */
export interface Tools {
  context: Context;
  writeCookie: CookieWriter;
  /** Judge each answer by its schema: for tests, which then see an answer that breaks its declaration as a 500. */
  checkAnswers: boolean;
}

/** The status of a success by S2. */
export const successStatus = ({ method, path, creates }: AnyRoute): number => (creates || (method === 'post' && path.startsWith('/public/v1/')) ? 201 : 200);

function replyOf(exchange: Exchange, writeCookie: CookieWriter): Reply {
  const { response, cookiesToSet } = exchange;
  return {
    cookie: (name, value, options) => void cookiesToSet.set(name, writeCookie(name, value, options)),
    header: (name, value) => void response.setHeader(name, value),
    status: (code) => void (exchange.status = code),
  };
}

/** The ladder, in the order of S15; the request has its id and its headers already, and what is thrown here is answered by `refuse`. */
export async function climb(exchange: Exchange, route: AnyRoute, tools: Tools): Promise<void> {
  const { context, writeCookie } = tools;
  const readBody = async () => (await (exchange.body ??= readJson(exchange.request.stream, route.bodyLimit))).value;
  exchange.route = route;
  await authenticate(exchange, route, context, writeCookie);
  await checkCsrf(exchange, route, context, readBody);
  await throttle(exchange, route, context);
  permit(route, exchange.principal);
  const body = route.input === 'stream' ? undefined : await readBody();
  const input = validate(route, { body, search: exchange.search, params: exchange.params });
  const { claim: mine, stored } = await claim(exchange, route, context);
  if (stored) {
    exchange.response.setHeader('Idempotency-Replayed', 'true');
    return sendJson(exchange, stored.status, stored.reply);
  }
  try {
    await perform(exchange, route, tools, input, mine);
  } catch (thrown) {
    if (mine) await settleRefusal(exchange, thrown, mine, context);
    throw thrown;
  }
}

async function perform(
  exchange: Exchange,
  route: AnyRoute,
  tools: Tools,
  input: ReturnType<typeof validate>,
  mine: IdempotencyClaim | undefined,
): Promise<void> {
  const { context } = tools;
  const result: unknown = await route.handle({
    ctx: context,
    actors: context.actors,
    principal: exchange.principal!, // absent only on routes for everybody, whose handlers do not ask
    ...input,
    request: exchange.request,
    reply: replyOf(exchange, tools.writeCookie),
    idempotency: mine,
  });
  const answer: unknown = route.present(result);
  const status = exchange.status ?? successStatus(route);
  if (route.output === 'text' || route.output === 'bytes') return sendRaw(exchange, status, answer as string | Uint8Array | Readable);
  if (tools.checkAnswers && status !== 304) route.answer.parse(answer);
  const text = JSON.stringify(answer);
  if (mine) await settle(mine, status, text, context);
  sendJson(exchange, status, text);
}

async function settleRefusal(exchange: Exchange, thrown: unknown, mine: IdempotencyClaim, context: Context): Promise<void> {
  const error = asCallerError(thrown);
  await settle(mine, error.status, JSON.stringify(errorBody(error, exchange.request.id, context.config.http.frontendUrl)), context);
}

/** Answers any thrown value: the body of S3, and `Retry-After` where waiting helps. */
export function refuse(exchange: Exchange, thrown: unknown, { context }: Tools): AppError {
  const { response, request } = exchange;
  const error = asCallerError(thrown);
  if (response.headersSent) {
    response.destroy(); // a stream broke off: the client must not take it for whole
    return error;
  }
  const body = errorBody(error, request.id, context.config.http.frontendUrl);
  if (typeof body['retryAfter'] === 'number') response.setHeader('Retry-After', body['retryAfter']);
  for (const name of ['Content-Type', 'ETag', 'Cache-Control']) response.removeHeader(name); // they described the answer that did not come about
  sendJson(exchange, error.status, JSON.stringify(body));
  return error;
}
