import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Express } from 'express';
import express from 'express';
import { AppError, asAppError } from '../../src/platform/kernel/index.ts';
import { type Exchange, routePath } from './exchange.ts';
import type { AnyRoute } from './route.ts';
import { askedFor, unknownRoute } from './unknown-route.ts';

/** Takes a request up the ladder of its route; `route` undefined is a refusal that Express decided on. */
export type Serve = (exchange: Exchange, route: AnyRoute | undefined, refusal?: AppError) => Promise<void>;
export type Open = (
  request: IncomingMessage,
  response: ServerResponse,
  params?: Readonly<Record<string, string>>,
) => Exchange;

const segmentsOf = (path: string): string[] => path.split('/').slice(1);

/** Fixed segments before parameters, place by place, so that the first match is the most exact one. */
export function bySpecificity(a: AnyRoute, b: AnyRoute): number {
  const [left, right] = [segmentsOf(a.path), segmentsOf(b.path)];
  for (let n = 0; n < Math.min(left.length, right.length); n += 1) {
    const [x, y] = [left[n]!.startsWith(':'), right[n]!.startsWith(':')];
    if (x !== y) return x ? 1 : -1;
  }
  return left.length - right.length;
}

/** Two declarations of one method and one shape of path: only one of them could ever answer. */
function refuseDoubles(routes: readonly AnyRoute[]): void {
  const seen = new Set<string>();
  for (const { method, path } of routes) {
    const shape = `${method} ${path.replace(/:\w+/g, ':')}`;
    if (seen.has(shape)) throw new Error(`Two routes are declared for ${method.toUpperCase()} ${path}`);
    seen.add(shape);
  }
}

/** A request as it was sent: Express takes `/api` off `url` while its router runs. */
const sent = ({ method, originalUrl }: express.Request) => ({ method, url: originalUrl });

/** Every route on Express; a known path with another method answers 405, anything else 404. */
export function mountOnExpress(routes: readonly AnyRoute[], open: Open, serve: Serve): Express {
  refuseDoubles(routes);
  const app = express();
  app.disable('x-powered-by').disable('etag').enable('case sensitive routing').set('query parser', false);
  const router = express.Router({ caseSensitive: true });
  const ordered = routes.toSorted(bySpecificity);

  for (const route of ordered)
    router[route.method](
      route.path,
      (request, response) => void serve(open(request, response, request.params as Record<string, string>), route),
    );
  for (const path of new Set(ordered.map((route) => route.path)))
    router.all(path, (request, response) => {
      const shape = path.replace(/:\w+/g, ':');
      const methods = ordered
        .filter((route) => route.path.replace(/:\w+/g, ':') === shape)
        .map((route) => route.method.toUpperCase());
      const exchange = open(request, response);
      const allowed = [...new Set(methods)].join(', ');
      exchange.headers['allow'] = allowed;
      void serve(
        exchange,
        undefined,
        new AppError('method_not_allowed', `${askedFor(sent(request))} is not possible: this path takes ${allowed}`),
      );
    });
  app.use('/api', router);
  app.use(router);
  app.use((request, response) => void serve(open(request, response), undefined, unknownRoute(sent(request))));
  app.use((error: unknown, request: express.Request, response: express.Response, _next: express.NextFunction) => {
    const undecodable =
      // a path that names nothing
      error instanceof URIError || (error instanceof Error && 'status' in error && error.status === 400);
    void serve(open(request, response), undefined, undecodable ? unknownRoute(sent(request)) : asAppError(error));
  });
  return app;
}

interface Branch {
  fixed: Map<string, Branch>;
  parameter?: Branch;
  route?: AnyRoute;
}
const branch = (): Branch => ({ fixed: new Map() });

/** The route of a path, and the texts in the places of its parameters. */
interface Found {
  route: AnyRoute;
  params: Readonly<Record<string, string>>;
}

/**
 * The table in front of Express: the route of a plain request. What needs judging (HEAD, an escaped parameter, nothing
 * that is declared) it leaves to Express.
 */
export function routeTable(routes: readonly AnyRoute[]): (method: string, url: string) => Found | undefined {
  const roots = new Map<string, { whole: Map<string, Found>; tree: Branch }>();
  for (const route of routes) {
    const method = route.method.toUpperCase();
    const root = roots.get(method) ?? { whole: new Map(), tree: branch() };
    roots.set(method, root);
    if (!route.path.includes(':')) root.whole.set(route.path, { route, params: {} });
    let at = root.tree;
    for (const segment of segmentsOf(route.path)) {
      const next = segment.startsWith(':') ? (at.parameter ?? branch()) : (at.fixed.get(segment) ?? branch());
      if (segment.startsWith(':')) at.parameter = next;
      else at.fixed.set(segment, next);
      at = next;
    }
    at.route = route;
  }

  const descend = (at: Branch, segments: readonly string[], n: number): AnyRoute | undefined => {
    if (n === segments.length) return at.route;
    const fixed = at.fixed.get(segments[n]!);
    return (
      (fixed && descend(fixed, segments, n + 1)) ??
      (at.parameter && segments[n] !== '' ? descend(at.parameter, segments, n + 1) : undefined)
    );
  };

  return (method, url) => {
    const root = roots.get(method);
    if (!root || !url.startsWith('/')) return undefined;
    const end = url.indexOf('?');
    const path = routePath(end < 0 ? url : url.slice(0, end));
    const whole = root.whole.get(path);
    if (whole) return whole;
    const segments = segmentsOf(path);
    const route = descend(root.tree, segments, 0);
    if (!route) return undefined;
    const params: Record<string, string> = {};
    for (const [n, name] of segmentsOf(route.path).entries())
      if (name.startsWith(':')) {
        if (segments[n]!.includes('%')) return undefined; // Express decodes
        params[name.slice(1)] = segments[n]!;
      }
    return { route, params };
  };
}
