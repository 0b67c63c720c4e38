import type { z } from 'zod';
import { type Clock, ProviderError, type ProviderFailure } from '../../../platform/kernel/index.ts';
import { type Outbound, type OutboundAnswer, OutboundError } from '../../../platform/outbound/index.ts';
import { ANSWER_BYTES, type Manifest, TIMEOUT_MS } from '../declare/adapter.ts';
import { failureOfStatus } from '../declare/failures.ts';
import { retryAfterMs, statedWaitMs } from '../declare/waits.ts';
import { bodyBeside, bodyOf, codeWordOf, sentenceOf } from './answer.ts';
import {
  addCredential,
  addNamed,
  credentialsOf,
  credentialText,
  type Held,
  sendsToken,
  writtenBody,
} from './credentials.ts';
import type { AppValues, Call, Http } from './http.ts';
import { redactor } from '../declare/redact.ts';

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
/** Some providers refuse requests without a user agent. */
const USER_AGENT = 'rookery';
/** Waits before a safe call is repeated after a network error. */
const SAFE_RETRIES_MS = [100, 400];

export interface HttpOptions {
  manifest: Pick<
    Manifest,
    'title' | 'api' | 'hosts' | 'auth' | 'errors' | 'errorOf' | 'errorHeaders' | 'errorInside' | 'timeoutMs' | 'terse'
  >;
  outbound: Pick<Outbound, 'fetch'>;
  clock: Clock;
  values: Readonly<Record<string, string>>;
  token?: string | undefined;
  /** The app of the channel, where its calls name one. */
  app?: AppValues | undefined;
  /** Secrets that are removed from errors, beside the token. */
  secrets: readonly (string | undefined)[];
  /** Answers a fresh access token; called once, after the network refused the known one. */
  renew?: (() => Promise<string>) | undefined;
}

/** Fills `{field}` from the values; a trailing slash of a value does not double. */
export const fill = (template: string, values: Readonly<Record<string, string>>): string =>
  template.replace(/\{(\w+)\}/g, (_, name: string) => (values[name] ?? '').replace(/(?<!\/)\/+$/, ''));

/** Opens the tool `http`. One closure, since each step reads the connection: its base, its token, its secrets. */
// oxlint-disable-next-line max-lines-per-function -- each step reads the connection: base, token, secrets
export function openHttp({ manifest, outbound, clock, values, token, app, secrets, renew }: HttpOptions): Http {
  const base = fill(manifest.api, values);
  const credentials = credentialsOf(manifest.auth);
  let bearer = token;
  const held = (): Held => ({ values, token: bearer, app });
  /** A login is hidden also as it is sent: encoded together with a user name, it is no form of the password. */
  const logins = () => credentials.filter((one) => one.in === 'basic').map((one) => credentialText(one, held()));
  const clean = (text: string) =>
    redactor([
      ...secrets,
      token,
      bearer,
      app?.clientSecret,
      app?.botToken,
      ...logins().map((one) => one?.replace(/^Basic /, '')),
    ])(text);
  const words = (answer: OutboundAnswer) => (manifest.terse ? codeWordOf(answer) : sentenceOf(answer, clean));
  const fail = (
    failure: ProviderFailure,
    message: string,
    more: { cause?: unknown; retryAfterMs?: number | undefined } = {},
  ) =>
    new ProviderError(failure, clean(`${manifest.title} ${message}`), {
      retryAfterMs: more.retryAfterMs,
      ...(more.cause !== undefined && {
        cause: new Error(clean(more.cause instanceof Error ? `${more.cause.name}: ${more.cause.message}` : 'unknown')),
      }),
    });

  function address(path: string): URL {
    try {
      return new URL(/^https?:/.test(path) ? path : base + path);
    } catch {
      throw fail('rejected', `has no usable address: ${base}`);
    }
  }
  /** The origin that gets a credential. */
  const originOf = (host: string | undefined): string =>
    new URL(host === undefined ? base : (manifest.hosts?.[host] ?? base)).origin;

  function request(method: Method, path: string, given: Call) {
    const url = address(path);
    const headers: Record<string, string> = { ...given.headers };
    if (given.query) addNamed(url.searchParams, given.query);
    let call = given;
    for (const auth of credentials) {
      const text = credentialText(auth, held());
      if (text !== undefined && url.origin === originOf(auth.host))
        call = addCredential({ url, headers, call }, auth, text);
    }
    headers['user-agent'] ??= USER_AGENT; // a manifest may name other ones among its constant headers
    headers['accept'] ??= 'application/json';
    if (call.rawQuery !== undefined) url.search += (url.search === '' ? '' : '&') + call.rawQuery;
    if (call.idempotencyKey !== undefined) headers['idempotency-key'] = call.idempotencyKey;
    const { body, contentType } = writtenBody(call);
    if (contentType !== undefined) headers['content-type'] = contentType;
    return {
      url: url.href,
      options: {
        method,
        headers,
        ...(body !== undefined && { body }),
        timeoutMs: call.timeoutMs ?? manifest.timeoutMs ?? TIMEOUT_MS,
        maxBytes: call.answerBytes ?? ANSWER_BYTES,
        redirects: 'none' as const,
      },
    };
  }

  async function ask(method: Method, path: string, call: Call): Promise<OutboundAnswer> {
    const { url, options } = request(method, path, call);
    for (const wait of method === 'GET' && !call.creates ? [...SAFE_RETRIES_MS, undefined] : [undefined]) {
      try {
        return await outbound.fetch(url, options);
      } catch (error) {
        // thrown by the body that was read
        if (error instanceof OutboundError && error.cause instanceof ProviderError) throw error.cause;
        if (!(error instanceof OutboundError))
          throw fail(call.creates ? 'lost' : 'unavailable', 'could not be asked', { cause: error });
        const faultOfLine = error.failure === 'unreachable' || error.failure === 'interrupted';
        if (wait === undefined || !faultOfLine)
          throw fail(failureOfLine(error, call), `did not answer: ${error.message}`, { cause: error });
        await clock.sleep(wait);
      }
    }
    throw fail('unavailable', 'did not answer');
  }

  const refusedBody = (answer: OutboundAnswer) => bodyBeside(answer, { headers: manifest.errorHeaders, status: true });

  /** Of a refusal for a rate every place of a wait counts, else only the one that nothing but a refusal has. */
  function waitOf(failure: ProviderFailure, answer: OutboundAnswer): number | undefined {
    const { status, headers } = answer;
    if (failure === 'rate_limited' || status === 429) return retryAfterMs(headers, clock.now(), bodyOf(answer));
    return status === 503 || status < 300 ? statedWaitMs(headers, clock.now()) : undefined;
  }

  function refusal(answer: OutboundAnswer, call: Call): ProviderError | undefined {
    const { status } = answer;
    if (call.accepts?.includes(status)) return undefined;
    if (status >= 200 && status < 300) {
      const inside = manifest.errorInside?.safeParse(bodyOf(answer));
      return inside?.success
        ? fail(inside.data, `refused${words(answer)}`, { retryAfterMs: waitOf(inside.data, answer) })
        : undefined;
    }
    if (status < 400) return fail('rejected', `sends us elsewhere (${status}): check the address of the server`);
    const special = manifest.errorOf?.safeParse(refusedBody(answer));
    const failure = special?.success
      ? special.data
      : (manifest.errors?.[status] ?? failureOfStatus(status, call.creates ?? false));
    return fail(failure, `answered ${status}${words(answer)}`, { retryAfterMs: waitOf(failure, answer) });
  }

  async function send(
    method: Method,
    path: string,
    call: Call,
    gone?: (answer: OutboundAnswer) => boolean,
  ): Promise<OutboundAnswer | undefined> {
    let answer = await ask(method, path, call);
    let problem = gone?.(answer) ? undefined : refusal(answer, call);
    if (problem?.failure === 'reauthorize' && renew && sendsToken(manifest.auth) && bearer === token) {
      bearer = await renew(); // the refused call had no effect: it can be repeated
      answer = await ask(method, path, call);
      problem = gone?.(answer) ? undefined : refusal(answer, call);
    }
    if (problem) throw problem;
    return gone?.(answer) ? undefined : answer;
  }

  function parsed<S extends z.ZodType>(answer: OutboundAnswer, reply: S, call: Call): z.output<S> {
    const result = reply.safeParse(bodyBeside(answer, { headers: call.replyHeaders, status: call.replyStatus }));
    if (result.success) return result.data;
    const issue = result.error.issues[0];
    throw fail(
      call.creates ? 'lost' : 'unavailable',
      `answered ${answer.status} with something we do not understand (${issue?.path.join('.') || 'body'}: ${issue?.code ?? 'invalid'})`,
    );
  }

  const withBody =
    (method: Method) =>
    async <S extends z.ZodType>(path: string, reply: S, call: Call = {}) =>
      parsed((await send(method, path, call))!, reply, call);
  return {
    get: withBody('GET'),
    post: withBody('POST'),
    put: withBody('PUT'),
    patch: withBody('PATCH'),
    async find(path, reply, { absent, ...call } = {}) {
      const answer = await send(
        call.json === undefined ? 'GET' : 'POST',
        path,
        call,
        (one) => isGone(one) || (one.status >= 400 && (absent?.safeParse(refusedBody(one)).success ?? false)),
      );
      return answer && parsed(answer, reply, call);
    },
    async delete(path, call = {}) {
      await send('DELETE', path, call, isGone);
    },
  };
}

const isGone = ({ status }: OutboundAnswer): boolean => status === 404 || status === 410;

function failureOfLine(error: OutboundError, call: Call): ProviderFailure {
  if (error.failure === 'invalid' || error.failure === 'blocked' || error.failure === 'too_many_redirects')
    return 'rejected';
  return call.creates && error.sent ? 'lost' : 'unavailable';
}
