import type { z } from 'zod';
import { type Outbound, type OutboundAnswer, OutboundError } from '../../../platform/outbound/index.ts';
import { ProviderError } from '../../../platform/kernel/index.ts';
import { ANSWER_BYTES, TIMEOUT_MS } from '../declare/adapter.ts';
import { bodyBeside } from './answer.ts';
import { type Connection, type ConnectionOptions, openConnection, USER_AGENT } from './connection.ts';
import { addNamed, sendsToken, writtenBody } from './credentials.ts';
import type { Call, Http } from './http.ts';
import { UPLOAD } from './upload-limits.ts';

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
/** What an address resolves: segments of dots, and characters that it reads as a slash or leaves out. */
const LEADS_ELSEWHERE = /[\\\t\n\r]|\/(?:\.|%2e){1,2}(?:\/|$)/i;
/** Waits before a safe call is repeated after a network error. */
const SAFE_RETRIES_MS = [100, 400];

export interface HttpOptions extends ConnectionOptions {
  outbound: Pick<Outbound, 'fetch'>;
  /** Answers a fresh access token; called once, after the network refused the known one. */
  renew?: (() => Promise<string>) | undefined;
  /** What it has in common with the other tools of a line. */
  connection?: Connection;
}

/** Opens the tool `http`. One closure, since each step reads the connection: its base, its token, its failures. */
// oxlint-disable-next-line max-lines-per-function -- each step reads the connection: base, token, failures
export function openHttp({ outbound, renew, connection: shared, ...own }: HttpOptions): Http {
  const { manifest, clock } = own;
  const connection = shared ?? openConnection(own);
  const { base, fail, refusal, refusedBody } = connection;
  const token = connection.bearer;

  function address(path: string): URL {
    const isWhole = /^https?:/.test(path);
    if (!isWhole && LEADS_ELSEWHERE.test(path.split(/[?#]/, 1)[0]!))
      throw fail('rejected', 'is not asked on a path that leads elsewhere: an id in it is none');
    try {
      return new URL(isWhole ? path : base + path);
    } catch {
      throw fail('rejected', `has no usable address: ${base}`);
    }
  }
  function request(method: Method, path: string, given: Call) {
    const url = address(path);
    const headers: Record<string, string> = { ...given.headers };
    if (given.query) addNamed(url.searchParams, given.query);
    const call = connection.withCredentials({ url, headers, call: given });
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
        upload: UPLOAD,
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
        const faultOfLine =
          error instanceof OutboundError && (error.failure === 'unreachable' || error.failure === 'interrupted');
        if (wait === undefined || !faultOfLine) throw connection.unanswered(error, call.creates ?? false);
        await clock.sleep(wait);
      }
    }
    throw fail('unavailable', 'did not answer');
  }

  async function send(
    method: Method,
    path: string,
    call: Call,
    gone?: (answer: OutboundAnswer) => boolean,
  ): Promise<OutboundAnswer | undefined> {
    let answer = await ask(method, path, call);
    let problem = gone?.(answer) ? undefined : refusal(answer, call);
    if (problem?.failure === 'reauthorize' && renew && sendsToken(manifest.auth) && connection.bearer === token) {
      connection.bearer = await renew(); // the refused call had no effect: it can be repeated
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
