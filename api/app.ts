import type { RequestListener } from 'node:http';
import type { Context } from '../src/context.ts';
import type { AppError } from '../src/platform/kernel/index.ts';
import { sendJson } from './http/answer.ts';
import { openAtWork, openWholeLists } from './http/at-work.ts';
import { BODY_MS } from './http/body.ts';
import { cookieWriter } from './http/cookies.ts';
import { consoleOrigins, setCorsHeaders } from './http/cors.ts';
import { exchangeOpening, openExchange } from './http/exchange.ts';
import { hostCheck, noHost } from './http/host.ts';
import { openLargeBodies } from './http/large-bodies.ts';
import { climb, openRooms, refuse, type Tools } from './http/ladder.ts';
import { routeTable, mountOnExpress, type Open, type Serve } from './http/mount.ts';
import type { AnyRoute } from './http/route.ts';
import { traced } from './http/trace.ts';

/** The outcome of one request, for the log line and the counters; `error` is there for anything that was refused. */
export interface Answered {
  requestId: string;
  method: string;
  /** As declared (`/posts/:id`), so that it can be a label; undefined when nothing matched. */
  route: string | undefined;
  /** As asked for, without the query. */
  path: string;
  status: number;
  ms: number;
  orgId: string | undefined;
  userId: string | undefined;
  error: AppError | undefined;
}

export interface AppOptions {
  onAnswer?: (answered: Answered) => void;
  checkAnswers?: boolean;
  bodyMs?: number;
  /** Handlers that run at a time. */
  atWork?: number;
  /** Aborted when the process listens no longer. */
  ending?: AbortSignal;
}

/** The whole API as a listener: the table of routes, behind it Express, and one ladder for both. */
export function createApp(
  context: Context,
  routes: readonly AnyRoute[],
  { onAnswer, checkAnswers = false, bodyMs = BODY_MS, atWork, ending = new AbortController().signal }: AppOptions = {},
): RequestListener {
  const { config, clock } = context;
  const tools: Tools = {
    context,
    roomsOf: openRooms(context),
    routes,
    writeCookie: cookieWriter(config),
    checkAnswers,
    bodyMs,
    largeBodies: openLargeBodies(),
    atWork: openAtWork(atWork),
    wholeLists: openWholeLists(),
  };
  const origins = consoleOrigins(config.http);
  const checkHost = hostCheck(config);

  const opening = exchangeOpening(config, ending);
  const open: Open = (request, response, params) => openExchange(request, response, opening, params);

  const answer: Serve = async (exchange, route, refusal) => {
    const { request, response } = exchange;
    const started = clock.monotonic();
    let error: AppError | undefined;
    try {
      setCorsHeaders(exchange, origins);
      if (request.headers['host'] === undefined && request.stream.httpVersionMinor > 0) throw noHost(exchange);
      checkHost(request.headers['host']);
      if (request.method === 'OPTIONS') sendJson(exchange, 200, '{}');
      else if (route) await climb(exchange, route, tools);
      else throw refusal;
    } catch (thrown) {
      error = refuse(exchange, thrown, tools);
    }
    const { principal } = exchange;
    onAnswer?.({
      requestId: request.id,
      method: request.method,
      route: route?.path,
      path: request.path,
      status: response.statusCode,
      ms: clock.monotonic() - started,
      orgId: principal?.orgId,
      userId: principal?.userId,
      error,
    });
  };

  const { tracing } = context;
  const serve: Serve = tracing.enabled ? traced(tracing.span, answer) : answer;
  const express = mountOnExpress(routes, open, serve);
  const find = routeTable(routes);
  return (request, response) => {
    const found = find(request.method ?? '', request.url ?? '/');
    if (found) void serve(open(request, response, found.params), found.route);
    else express(request, response);
  };
}
