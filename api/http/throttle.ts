import type { Context } from '../../src/context.ts';
import { AppError, hmacHex } from '../../src/platform/kernel/index.ts';
import { networkOf, siteOf } from './client-ip.ts';
import type { Exchange } from './exchange.ts';
import type { AnyRoute, Principal } from './route.ts';

const WINDOW_MS = { minute: 60_000, hour: 3_600_000 };
const FAILED_PER_HOUR = 120;

/** The rooms that counting needs. */
export type Counting = Pick<Context, 'cache' | 'clock' | 'config'>;
const scaled = (limit: number, { config }: Pick<Counting, 'config'>): number =>
  Math.max(1, Math.round(limit * config.http.rateLimitScale));

interface Bucket {
  bucket: string;
  limit: number;
  /** What somebody has decided: it is counted by the hour, and no scale changes it. */
  isOwn?: boolean;
}

/**
 * Takes one from each bucket, asked about together, and writes the rate headers (S16) of the one with least left;
 * throws `rate_limited` when one is empty, and takes nothing from the others then.
 */
async function take(
  exchange: Exchange,
  context: Counting,
  buckets: readonly Bucket[],
  windowMs: number,
): Promise<void> {
  const { headers } = exchange;
  const asked = buckets.map(({ bucket, limit, isOwn }) => ({
    bucket,
    limit: isOwn ? limit : scaled(limit, context),
    windowMs: isOwn ? WINDOW_MS.hour : windowMs,
  }));
  const hits = (await context.cache.hitAll(asked)).map((hit, n) => ({ ...hit, most: asked[n]!.limit }));
  const refused = hits.find(({ allowed }) => !allowed);
  const { most, allowed, remaining, resetAt } =
    refused ?? hits.reduce((least, hit) => (hit.remaining < least.remaining ? hit : least));
  headers['x-ratelimit-limit'] = most;
  headers['x-ratelimit-remaining'] = Math.max(0, remaining);
  headers['x-ratelimit-reset'] = Math.ceil(resetAt.getTime() / 1000);
  if (!allowed) throw rateLimited(resetAt, context);
}

const rateLimited = (resetAt: Date, { clock }: Pick<Counting, 'clock'>) =>
  new AppError('rate_limited', 'Too many requests, try again later', {
    retryAfterMs: Math.max(1_000, resetAt.getTime() - clock.now().getTime()),
  });

const limits = new Map<string, { count: number; windowMs: number }>(); // few texts, read for every request
function limitOf(text: string): { count: number; windowMs: number } {
  let limit = limits.get(text);
  if (!limit) {
    const [count, window] = text.split('/') as [string, keyof typeof WINDOW_MS];
    limits.set(text, (limit = { count: Number(count), windowMs: WINDOW_MS[window] }));
  }
  return limit;
}

/**
 * The bucket of a /48, in buckets of a /64: 65,536 of them can be one customer's, or as many subscribers of a carrier.
 */
const NETWORKS_OF_A_SITE = 16;

/** Names a network in buckets by a keyed hash: they are kept in Redis, where nobody is to read who came from where. */
const hashed = ({ config }: Pick<Counting, 'config'>, network: string): string =>
  hmacHex(config.secrets.rateLimits, network);

/** The bucket of the network of an address. */
export const networkBucket = (context: Pick<Counting, 'config'>, ip: string): string =>
  `ip:${hashed(context, networkOf(ip))}`;

/** The buckets of an address: that of its network, and behind an IPv6 one that of its /48. */
function bucketsOf(context: Counting, name: string, ip: string, limit: number): Bucket[] {
  const site = siteOf(ip);
  const own = { bucket: `${name}|${networkBucket(context, ip)}`, limit };
  if (site === undefined) return [own];
  return [own, { bucket: `${name}|ip:${hashed(context, site)}`, limit: NETWORKS_OF_A_SITE * limit }];
}

/**
 * The bucket of a person, in buckets of an organization: who belongs to several has more than one of them, and not as
 * many as there are.
 */
const ORGS_OF_A_PERSON = 3;

/** The bucket of a program that may ask only so often, whatever it asks for. */
function bucketOfProgram({ limits: held }: Principal): Bucket[] {
  if (held?.requestsPerHour == null) return [];
  return [{ bucket: `program|${held.hourOf}`, limit: held.requestsPerHour, isOwn: true }];
}

/**
 * One bucket for each (route, caller): the org when it is known, else the address (RL2 to RL5). Behind that of an org
 * stands one of the person. `names`: what is counted in the place of the route.
 */
export function throttle(
  exchange: Exchange,
  route: AnyRoute,
  context: Context,
  names: readonly string[] = [`${route.method} ${route.countedAs ?? route.path}`],
): Promise<void> | undefined {
  if (route.limit === 'none') return undefined;
  const { count, windowMs } = limitOf(route.limit ?? `${context.config.http.apiLimit}/hour`);
  const { principal, request } = exchange;
  const ofProgram = principal ? bucketOfProgram(principal) : [];
  const buckets = names.flatMap((name): Bucket[] => {
    if (!principal || route.limitBy === 'ip') return bucketsOf(context, name, request.ip, count);
    const person = `${name}|user:${principal.userId}`;
    if (route.limitBy === 'person') return [{ bucket: person, limit: count }, ...ofProgram];
    return [
      ...ofProgram,
      { bucket: `${name}|org:${principal.orgId}`, limit: count },
      { bucket: person, limit: ORGS_OF_A_PERSON * count },
    ];
  });
  return take(exchange, context, buckets, windowMs);
}

/** Counts a refused credential; after 120 in an hour from one address refusals become 429 (S15, S241). */
export const failedAuthentication = (exchange: Exchange, context: Context): Promise<void> =>
  take(exchange, context, bucketsOf(context, 'failed', exchange.request.ip, FAILED_PER_HOUR), WINDOW_MS.hour);

/** For handlers with a second bucket, such as that of one account; throws `rate_limited`. */
export async function throttleBy(context: Counting, bucket: string, limit: number, windowMs: number): Promise<void> {
  const { allowed, resetAt } = await context.cache.hit(bucket, scaled(limit, context), windowMs);
  if (!allowed) throw rateLimited(resetAt, context);
}
