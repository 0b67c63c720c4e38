import type { AnyRoute } from '../route.ts';
import type { Json } from './schemas.ts';

const integer = (description: string, example: number) => ({ description, schema: { type: 'integer' }, example });
const text = (description: string, example: string) => ({ description, schema: { type: 'string' }, example });

/** The headers of answers, by their names in the components. */
export const HEADERS: Json = {
  RequestId: text(
    'The id of this request: that of the client where it sent one.',
    '0198f2a4-6b1e-7c3d-9a52-4e8d1f60b7c9',
  ),
  RateLimitLimit: integer('Requests that the bucket of this route and caller allows in its window.', 600),
  RateLimitRemaining: integer('Requests that are left in the window.', 599),
  RateLimitReset: integer('When the window ends, in Unix seconds.', 1_788_256_800),
  RetryAfter: integer('Seconds to wait before the next request.', 42),
  IdempotencyReplayed: {
    description: 'There when the answer is that of the first request with this `Idempotency-Key`.',
    schema: { type: 'string', enum: ['true'] },
    example: 'true',
  },
  PreferenceApplied: text('There when the client did not want to wait (RFC 7240).', 'respond-async'),
  ETag: text('The version of the answer, for `If-None-Match`.', 'W/"9f86d081884c7d659a2feaa0c55ad015"'),
  Deprecation: text('Since when the route is to be removed (RFC 9745).', '@1788220800'),
  Sunset: text('Until when the route stays at least (RFC 8594).', 'Mon, 01 Mar 2027 00:00:00 GMT'),
};

const references = (headers: Readonly<Record<string, string>>): Json =>
  Object.fromEntries(Object.entries(headers).map(([name, key]) => [name, { $ref: `#/components/headers/${key}` }]));

const RATE = {
  'X-RateLimit-Limit': 'RateLimitLimit',
  'X-RateLimit-Remaining': 'RateLimitRemaining',
  'X-RateLimit-Reset': 'RateLimitReset',
};

/** The headers that a success of a route carries. */
export const headersOfSuccess = ({ limit, idempotent, revision, deprecated }: AnyRoute): Json =>
  references({
    'X-Request-Id': 'RequestId',
    ...(limit !== 'none' && RATE),
    ...(idempotent && { 'Idempotency-Replayed': 'IdempotencyReplayed' }),
    ...(revision && { ETag: 'ETag' }),
    ...(deprecated && { Deprecation: 'Deprecation', Sunset: 'Sunset' }),
  });

/** The headers of the 202 of a route that has another success beside it. */
export const headersOfAccepted = (route: AnyRoute): Json => ({
  ...headersOfSuccess(route),
  ...references({ 'Preference-Applied': 'PreferenceApplied' }),
});

/** The headers of a refusal with this status. */
export const headersOfRefusal = (status: number | undefined): Json =>
  references({ 'X-Request-Id': 'RequestId', ...(status === 429 && { ...RATE, 'Retry-After': 'RetryAfter' }) });
