import { z } from 'zod';
import { type FailureByCode, FailureWord } from '../kit/declare/failures.ts';
import type { Fields } from '../kit/declare/fields.ts';
import { anthropicModels } from '../kit/protocols/language-models.ts';
import type { Auth } from '../kit/wire/http.ts';
import { callsOf } from './_calls.ts';
import { ai, type AiAdapter, type AiSpec } from './_contract.ts';
import type { Dialect } from './_dialect.ts';
import { apiKey, baseUrl } from './_openai-chat.ts';

/** The version of the protocol, which each call names. */
const VERSION = '2023-06-01';
const TYPES: FailureByCode = {
  authentication_error: 'reauthorize',
  permission_error: 'reauthorize',
  billing_error: 'exhausted',
  rate_limit_error: 'rate_limited',
  overloaded_error: 'unavailable',
  api_error: 'unavailable',
  timeout_error: 'lost',
  invalid_request_error: 'rejected',
  not_found_error: 'rejected',
  request_too_large: 'rejected',
};
const Stated = z.object({ error: z.object({ type: z.string(), message: z.string() }) });
/** Reads the failure of an error by its type; a balance that is used up is an invalid request with a sentence. */
const anthropicError = Stated.transform(({ error: { type, message } }) =>
  type === 'invalid_request_error' && /credit balance is too low/i.test(message) ? 'exhausted' : TYPES[type],
).pipe(FailureWord);

interface Brand extends Omit<AiSpec<Fields>, 'version' | 'authType' | 'credentials' | 'connect' | 'auth'> {
  /** Beside the key and the version. */
  auth?: readonly Auth[];
  objects?: ReturnType<Dialect['objects']>;
}

/** Declares a brand of the protocol of Anthropic's Messages API. */
export const anthropicMessages = ({ auth = [], objects = 'schema', ...brand }: Brand): AiAdapter =>
  ai<Fields>({
    errorOf: anthropicError,
    ...brand,
    version: 'v1',
    authType: 'api_key',
    credentials: { apiKey, baseUrl },
    apiBy: { baseUrl: '{baseUrl}' },
    auth: [
      { in: 'header', name: 'x-api-key', field: 'apiKey' },
      { in: 'header', name: 'anthropic-version', text: VERSION },
      ...auth,
    ],
    connect: (line) =>
      callsOf(line, {
        title: brand.title,
        objects: () => objects,
        open: (fetch) => anthropicModels({ base: line.base, fetch }),
      }),
  });
