const DAY_MS = 86_400_000;
/** A smaller number of seconds is a duration, a greater one a time since 1970. */
const SPAN_SECONDS = 100_000_000;

function waitOf(value: Told, now: Date): number | undefined {
  if (value === null || value === undefined || value === '') return undefined;
  const number = Number(value);
  const at = Number.isNaN(number)
    ? Date.parse(`${value}`)
    : number < SPAN_SECONDS
      ? now.getTime() + number * 1000
      : number * 1000;
  return Number.isNaN(at) ? undefined : Math.min(Math.max(Math.ceil(at - now.getTime()), 0), DAY_MS);
}

/**
 * A quota of a provider: when it begins anew, at the midnight of a time zone, or after so long. One of the last 24 hours
 * has `QUOTA_MS`: it gets free piece by piece, and a post is tried again often enough for a day.
 */
export type Quota = { midnight: 'UTC' | 'America/Los_Angeles' } | { againMs: number };
export const QUOTA_MS = DAY_MS / 6;

/** How many milliseconds to wait for a quota. */
export function quotaWaitMs(quota: Quota, now: Date): number {
  if ('againMs' in quota) return quota.againMs;
  const clock = new Intl.DateTimeFormat('en-GB', { timeZone: quota.midnight, timeStyle: 'medium' }).format(now);
  const [hours, minutes, seconds] = clock.split(':').map(Number) as [number, number, number]; // '02:00:00'
  return DAY_MS - ((hours * 60 + minutes) * 60 + seconds) * 1000;
}

interface Refused {
  headers: Headers;
  /** The parsed body. */
  body: unknown;
}
/** Seconds, a time in seconds, or a date. */
type Told = string | number | null | undefined;
type Reader = (refused: Refused) => Told;

const header =
  (name: string): Reader =>
  ({ headers }) =>
    headers.get(name);
const inBody =
  (...path: readonly string[]): Reader =>
  ({ body }) => {
    const value = path.reduce<unknown>((at, name) => Object(at)[name], body);
    return typeof value === 'number' ? value : undefined;
  };
const inMinutes =
  (name: string): Reader =>
  (refused) => {
    const minutes = inBody(name)(refused);
    return typeof minutes === 'number' ? minutes * 60 : undefined;
  };

const RETRY_AFTER = header('retry-after');
/** The places of a wait, the most precise first. */
const READERS: readonly Reader[] = [
  RETRY_AFTER,
  header('x-ratelimit-reset-after'),
  inBody('retry_after'),
  inBody('parameters', 'retry_after'),
  inBody('retry_after_seconds'),
  inMinutes('retry_after_minutes'),
  ({ headers }) => usedUpOfDay(headers),
  header('x-rate-limit-reset'),
  header('x-ratelimit-reset'),
  header('ratelimit-reset'),
  ({ body }) => retryInfo(body),
  ({ headers }) => minutesUntilAccess(headers.get('x-business-use-case-usage')),
];

/**
 * Reads which limit of 24 hours is used up at X, beside `x-rate-limit-reset`, which is that of a quarter of an hour;
 * answers when the last one begins anew.
 */
function usedUpOfDay(headers: Headers): number | undefined {
  const ends = ['x-app-limit-24hour', 'x-user-limit-24hour']
    .filter((limit) => headers.get(`${limit}-remaining`) === '0')
    .map((limit) => Number(headers.get(`${limit}-reset`)))
    .filter((end) => end > 0);
  return ends.length > 0 ? Math.max(...ends) : undefined;
}

/** Reads the `RetryInfo` of Google's errors: `{"error":{"details":[{"retryDelay":"37.5s"}]}}`; answers seconds. */
function retryInfo(body: unknown): string | undefined {
  const details: unknown = Object(Object(body).error).details;
  const delays = Array.isArray(details) ? details.map((one) => String(Object(one).retryDelay)) : [];
  return delays.map((delay) => /^(\d{1,6}(?:\.\d{1,9})?)s$/.exec(delay)?.[1]).find((seconds) => seconds !== undefined);
}

/** Reads Meta's usage of each business: `{"<id>":[{"estimated_time_to_regain_access":<minutes>}]}`; answers seconds. */
function minutesUntilAccess(usage: string | null): number | undefined {
  if (usage === null) return undefined;
  let parsed: unknown;
  try {
    parsed = JSON.parse(usage);
  } catch {
    return undefined;
  }
  const minutes = Object.values(Object(parsed))
    .flat()
    .map((one) => Number(Object(one)['estimated_time_to_regain_access']))
    .filter((one) => one > 0);
  return minutes.length > 0 ? Math.max(...minutes) * 60 : undefined;
}

const firstOf = (readers: readonly Reader[], refused: Refused, now: Date): number | undefined => {
  for (const read of readers) {
    const wait = waitOf(read(refused), now);
    if (wait !== undefined) return wait;
  }
  return undefined;
};

/**
 * Reads how many milliseconds to wait, from whichever place the provider uses; at least zero, and a day at most. For
 * refusals for a rate only: other answers tell in the same headers when a window ends.
 */
export const retryAfterMs = (headers: Headers, now: Date, body?: unknown): number | undefined =>
  firstOf(READERS, { headers, body }, now);

/** The same from `Retry-After` alone, which any refusal may have. */
export const statedWaitMs = (headers: Headers, now: Date): number | undefined =>
  firstOf([RETRY_AFTER], { headers, body: undefined }, now);
