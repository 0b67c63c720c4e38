import type { RequestListener } from 'node:http';
import type { Context } from '../src/context.ts';
import type { AppError } from '../src/kernel/index.ts';
import { sendJson } from './http/answer.ts';
import { cookieWriter } from './http/cookies.ts';
import { consoleOrigins, setCorsHeaders } from './http/cors.ts';
import { openExchange } from './http/exchange.ts';
import { setSecurityHeaders } from './http/headers.ts';
import { climb, refuse, type Tools } from './http/ladder.ts';
import { hotTable, mountOnExpress, type Open, type Serve } from './http/mount.ts';
import type { AnyRoute } from './http/route.ts';

/** What became of one request: for the log line and the counters. `error` is there for anything that was refused. */
export interface Answered {
  requestId: string;
  method: string;
  /** As declared (`/posts/:id`), so that it can be a label; undefined when nothing matched. */
  route: string | undefined;
  status: number;
  ms: number;
  orgId: string | undefined;
  userId: string | undefined;
  error: AppError | undefined;
}

export interface AppOptions {
  onAnswer?: (answered: Answered) => void;
  checkAnswers?: boolean;
}

/** The whole API as a listener: the hot table, behind it Express, and one ladder for both. */
export function createApp(context: Context, routes: readonly AnyRoute[], { onAnswer, checkAnswers = false }: AppOptions = {}): RequestListener {
  const { config, clock } = context;
  const tools: Tools = { context, writeCookie: cookieWriter(config), checkAnswers };
  const origins = consoleOrigins(config.http);

  const open: Open = (request, response, params) => openExchange(request, response, config.http.trustProxyHops, params);

  const serve: Serve = async (exchange, route, refusal) => {
    const { request, response } = exchange;
    const started = clock.monotonic();
    let error: AppError | undefined;
    try {
      response.setHeader('X-Request-Id', request.id);
      setSecurityHeaders(response, config);
      setCorsHeaders(request.stream, response, request.path, origins);
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
      status: response.statusCode,
      ms: clock.monotonic() - started,
      orgId: principal?.orgId,
      userId: principal?.userId,
      error,
    });
  };

  const express = mountOnExpress(routes, open, serve);
  const hot = hotTable(routes);
  return (request, response) => {
    const found = hot(request.method ?? '', request.url ?? '/');
    if (found) void serve(open(request, response, found.params), found.route);
    else express(request, response);
  };
}
