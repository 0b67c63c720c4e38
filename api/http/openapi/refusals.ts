import { STATUS_CODES } from 'node:http';
import { type ErrorCode, STATUS } from '../../../src/platform/kernel/index.ts';
import type { AnyRoute } from '../route.ts';
import { headersOfRefusal } from './headers.ts';
import type { Json } from './schemas.ts';

/** The refusals that a route declares by its shape, beside those that any request may meet. */
export function refusalsOf(route: AnyRoute): number[] {
  const open = route.auth.includes('none');
  return [
    400,
    500,
    ...(route.limit === 'none' ? [] : [429]),
    ...(open ? [] : [401]),
    ...(route.planLimit ? [402] : []),
    ...(route.permission ||
    route.auth.includes('super-admin') ||
    (route.auth.includes('session') && route.method !== 'get')
      ? [403]
      : []),
    ...(route.path.includes(':') ? [404] : []),
    // what a write finds in another state: a post on its way, a job that has ended
    ...(route.idempotent || (route.method !== 'get' && route.path.includes(':')) ? [409] : []),
    ...(route.idempotent ? [422] : []),
    ...(route.body || route.input === 'stream' ? [413, 415] : []),
  ].toSorted((a, b) => a - b);
}

/** RFC 6749 5.2. */
const OAuthErrorSchema = {
  type: 'object',
  description: 'A refusal in the words of OAuth (RFC 6749, RFC 7591).',
  required: ['error'],
  properties: { error: { type: 'string' }, error_description: { type: 'string' } },
};

const ErrorSchema = {
  type: 'object',
  description: 'Every refusal has this form. `message` and `msg` are the same sentence; `code` is stable.',
  required: ['statusCode', 'error', 'message', 'msg', 'code'],
  properties: {
    statusCode: { type: 'integer' },
    error: { type: 'string', description: 'The reason phrase of the status.' },
    message: { type: 'string' },
    msg: { type: 'string' },
    code: { type: 'string', enum: Object.keys(STATUS) },
    errors: {
      type: 'array',
      description: 'Each fault of the input.',
      items: {
        type: 'object',
        required: ['field', 'message', 'rule'],
        properties: {
          field: { type: 'string', description: 'The path of the field, such as `posts.0.date`.' },
          message: { type: 'string' },
          rule: { type: 'string' },
        },
      },
    },
    url: { type: 'string', description: 'Of 402: where the plan can be changed.' },
    limit: { type: 'string', description: 'Of 402: the limit.' },
    max: { type: 'integer', description: 'Of 402: how many the plan allows.' },
    retryAfter: { type: 'integer', description: 'Of 429, in seconds.' },
    provider: { type: 'string', description: 'The network or provider that refused.' },
    name: { type: 'string', description: 'The channel whose content is refused.' },
    requestId: { type: 'string', description: 'Of 500: by which the cause is found.' },
  },
};

/** An example of each refusal: its code, its sentence, and what else it says. */
const EXAMPLES: Readonly<Record<number, readonly [code: ErrorCode, message: string, more?: Json]>> = {
  400: [
    'validation_failed',
    'posts.0.integration.id: is needed',
    { errors: [{ field: 'posts.0.integration.id', message: 'posts.0.integration.id: is needed', rule: 'required' }] },
  ],
  401: [
    'invalid_api_key',
    'Invalid API key',
    {
      errors: [
        {
          field: 'Authorization',
          message: 'Authorization: send a key that is neither revoked nor expired, raw or as `Bearer <key>`',
          rule: 'invalid_value',
        },
      ],
    },
  ],
  402: [
    'limit_exceeded',
    'Plan limit reached: channel (3)',
    { limit: 'channel', max: 3, url: 'https://rookery.example/billing' },
  ],
  403: ['forbidden', 'Your role lacks the permission posts:create'],
  404: ['not_found', 'Post not found'],
  409: ['conflict', 'The post is being published: wait for its outcome', {}],
  413: ['too_large', 'The body is larger than 2 MB'],
  415: ['unsupported_media', 'Send the body as application/json'],
  422: ['idempotency_mismatch', 'This Idempotency-Key was used with another body: send a new key'],
  429: ['rate_limited', 'Too many requests, try again later', { retryAfter: 42 }],
  500: ['internal', 'Something went wrong here', { requestId: '0198f2a4-6b1e-7c3d-9a52-4e8d1f60b7c9' }],
};

const exampleOfRefusal = (status: number): Json => {
  const [code, message, more] = EXAMPLES[status]!;
  return { statusCode: status, error: STATUS_CODES[status], message, msg: message, code, ...more };
};

/** The schemas and the responses of refusals, for the statuses that a document needs. */
export function describeRefusals(statuses: readonly number[], inOAuth: boolean): { schemas: Json; responses: Json } {
  const response = (description: string, schema: string, example: Json, status?: number) => ({
    description,
    headers: headersOfRefusal(status),
    content: { 'application/json': { schema: { $ref: `#/components/schemas/${schema}` }, example } },
  });
  return {
    schemas: { Error: ErrorSchema, ...(inOAuth && { OAuthError: OAuthErrorSchema }) },
    responses: {
      Error: response('Any other refusal', 'Error', exampleOfRefusal(409)),
      ...Object.fromEntries(
        statuses.map((status) => [
          `Error${status}`,
          response(STATUS_CODES[status]!, 'Error', exampleOfRefusal(status), status),
        ]),
      ),
      ...(inOAuth && {
        OAuthError: response('A refusal in the words of OAuth', 'OAuthError', {
          error: 'invalid_request',
          error_description: 'redirect_uri: is needed',
        }),
      }),
    },
  };
}
