import type { Context } from '../../src/context.ts';
import { AppError } from '../../src/kernel/index.ts';
import type { Exchange } from './exchange.ts';
import type { AnyRoute } from './route.ts';

const WINDOW_MS = { minute: 60_000, hour: 3_600_000 };
const FAILED_PER_HOUR = 120;

const scaled = (limit: number, { config }: Context): number => Math.max(1, Math.round(limit * config.http.rateLimitScale));

/** Takes one from a bucket and writes the rate headers (S16); throws `rate_limited` when it is empty. */
async function take(exchange: Exchange, context: Context, bucket: string, limit: number, windowMs: number): Promise<void> {
  const { response } = exchange;
  const most = scaled(limit, context);
  const { allowed, remaining, resetAt } = await context.cache.hit(bucket, most, windowMs);
  response.setHeader('X-RateLimit-Limit', most);
  response.setHeader('X-RateLimit-Remaining', Math.max(0, remaining));
  response.setHeader('X-RateLimit-Reset', Math.ceil(resetAt.getTime() / 1000));
  if (!allowed) throw rateLimited(resetAt, context);
}

const rateLimited = (resetAt: Date, { clock }: Context) =>
  new AppError('rate_limited', 'Too many requests, try again later', { retryAfterMs: Math.max(1_000, resetAt.getTime() - clock.now().getTime()) });

/** One bucket for each (route, caller): the org when it is known, else the address (RL2 to RL5). */
export async function throttle(exchange: Exchange, route: AnyRoute, context: Context): Promise<void> {
  if (route.limit === 'none') return;
  const [count, window] = (route.limit ?? `${context.config.http.apiLimit}/hour`).split('/') as [string, keyof typeof WINDOW_MS];
  const { principal, request } = exchange;
  const caller = principal && route.limitBy !== 'ip' ? `org:${principal.orgId}` : `ip:${request.ip}`;
  await take(exchange, context, `${route.method} ${route.path}|${caller}`, Number(count), WINDOW_MS[window]);
}

/** Counts a refused credential; after 120 in an hour from one address refusals become 429 (S15, S241). */
export const failedAuthentication = (exchange: Exchange, context: Context): Promise<void> =>
  take(exchange, context, `failed|ip:${exchange.request.ip}`, FAILED_PER_HOUR, WINDOW_MS.hour);

/** For handlers with a second bucket, such as that of one account; throws `rate_limited`. */
export async function throttleBy(context: Context, bucket: string, limit: number, windowMs: number): Promise<void> {
  const { allowed, resetAt } = await context.cache.hit(bucket, scaled(limit, context), windowMs);
  if (!allowed) throw rateLimited(resetAt, context);
}
