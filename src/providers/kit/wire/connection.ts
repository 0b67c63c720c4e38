import type { z } from 'zod';
import {
  type Clock,
  ProviderError,
  type ProviderFailure,
  type ProviderReason,
} from '../../../platform/kernel/index.ts';
import { type OutboundAnswer, OutboundError } from '../../../platform/outbound/index.ts';
import type { Manifest } from '../declare/adapter.ts';
import { failureOfStatus, failureReason } from '../declare/failures.ts';
import { redactor, unsigned } from '../declare/redact.ts';
import { quotaWaitMs, retryAfterMs, statedWaitMs } from '../declare/waits.ts';
import { bodyBeside, bodyOf, codeWordOf, sentenceOf } from './answer.ts';
import { addCredential, credentialsOf, credentialText, type CallDraft, type Held } from './credentials.ts';
import type { AppValues, Call } from './http.ts';

/** Some providers refuse requests without a user agent. */
export const USER_AGENT = 'rookery';

export interface ConnectionOptions {
  manifest: Pick<
    Manifest,
    | 'title'
    | 'api'
    | 'hosts'
    | 'auth'
    | 'errors'
    | 'errorOf'
    | 'errorHeaders'
    | 'errorInside'
    | 'quotaOf'
    | 'adviceOf'
    | 'duplicateOf'
    | 'badAddressOf'
    | 'timeoutMs'
    | 'terse'
  >;
  clock: Clock;
  values: Readonly<Record<string, string>>;
  token?: string | undefined;
  /** The app of the channel, where its calls name one. */
  app?: AppValues | undefined;
  /** Secrets that are removed from errors, beside the token. */
  secrets: readonly (string | undefined)[];
}

/** A refusal as far as its failure follows from it. */
export type RefusedAnswer = Pick<OutboundAnswer, 'status' | 'headers' | 'text'>;

/** What the calls to one provider have in common, whichever tool sends them: base URL, credentials, failures. */
export interface Connection {
  base: string;
  /** The access token; replaced when it was renewed. */
  bearer: string | undefined;
  /** Adds the credentials that the origin of a request gets. */
  withCredentials(draft: CallDraft): Call;
  fail(
    failure: ProviderFailure,
    message: string,
    more?: { cause?: unknown; reason?: ProviderReason | undefined; retryAfterMs?: number | undefined },
  ): ProviderError;
  /** Answers the failure of a call that got no answer, or not a whole one. */
  unanswered(error: unknown, creates: boolean): ProviderError;
  /** Answers the failure that an answer tells; undefined for a success. */
  refusal(answer: RefusedAnswer, call: Pick<Call, 'accepts' | 'creates'>): ProviderError | undefined;
  /**
   * Makes the failure of a refusal inside an answer that began well, such as an event of a stream. What it was paid for
   * may have been done, so that an unknown one is `lost`.
   */
  inside(status: number, body: object): ProviderError;
  /** The body of a refusal as `errorOf` reads it. */
  refusedBody(answer: RefusedAnswer): unknown;
}

/** Fills `{field}` from the values; a trailing slash of a value does not double. */
export const fill = (template: string, values: Readonly<Record<string, string>>): string =>
  template.replace(/\{(\w+)\}/g, (_, name: string) => (values[name] ?? '').replace(/(?<!\/)\/+$/, ''));

/** Opens the base of the tools that call one provider. */
export function openConnection({ manifest, clock, values, token, app, secrets }: ConnectionOptions): Connection {
  const base = fill(manifest.api, values);
  const credentials = credentialsOf(manifest.auth);
  const held = (): Held => ({ values, token: connection.bearer, app });
  /** A login is hidden also as it is sent: encoded together with a user name, it is no form of the password. */
  const logins = () => credentials.filter((one) => one.in === 'basic').map((one) => credentialText(one, held()));
  const clean = (text: string) =>
    unsigned(
      redactor([
        ...secrets,
        token,
        connection.bearer,
        app?.clientSecret,
        app?.botToken,
        ...logins().map((one) => one?.replace(/^Basic /, '')),
      ])(text),
    );
  function words(answer: RefusedAnswer): string {
    if (manifest.terse) return codeWordOf(answer);
    const advice = manifest.adviceOf?.safeParse(bodyOf(answer));
    return sentenceOf(answer, clean) + (advice?.success ? `. ${advice.data}` : '');
  }
  /** The origin that gets a credential. */
  const originOf = (host: string | undefined): string =>
    new URL(host === undefined ? base : (manifest.hosts?.[host] ?? base)).origin;

  /** Of a refusal for a rate every place of a wait counts, else only the one that nothing but a refusal has. */
  function waitOf(failure: ProviderFailure, answer: RefusedAnswer): number | undefined {
    const { status, headers } = answer;
    if (failure === 'rate_limited' || status === 429) {
      const body = bodyOf(answer);
      const stated = retryAfterMs(headers, clock.now(), body);
      const quota = stated === undefined ? manifest.quotaOf?.safeParse(body) : undefined;
      return quota?.success ? quotaWaitMs(quota.data, clock.now()) : stated;
    }
    return status === 503 || status < 300 ? statedWaitMs(headers, clock.now()) : undefined;
  }

  const connection: Connection = {
    base,
    bearer: token,
    withCredentials({ url, headers, call: given }) {
      let call = given;
      for (const auth of credentials) {
        const text = credentialText(auth, held());
        if (text !== undefined && url.origin === originOf(auth.host))
          call = addCredential({ url, headers, call }, auth, text);
      }
      return call;
    },
    fail: (failure, message, { cause, reason, retryAfterMs: wait } = {}) =>
      new ProviderError(failure, clean(`${manifest.title} ${message}`), {
        reason,
        retryAfterMs: wait,
        ...(cause !== undefined && {
          cause: new Error(clean(cause instanceof Error ? `${cause.name}: ${cause.message}` : 'unknown')),
        }),
      }),
    unanswered(error, creates) {
      if (error instanceof OutboundError)
        return connection.fail(failureOfLine(error, creates), `did not answer: ${error.message}`, { cause: error });
      return connection.fail(creates ? 'lost' : 'unavailable', 'could not be asked', { cause: error });
    },
    inside(status, body) {
      const answer: RefusedAnswer = { status, headers: new Headers(), text: () => JSON.stringify(body) };
      const special = manifest.errorOf?.safeParse(connection.refusedBody(answer));
      const stated = status >= 400 ? (manifest.errors?.[status] ?? failureOfStatus(status, true)) : 'lost';
      const failure = special?.success ? special.data : stated;
      return connection.fail(failure, `broke off${words(answer)}`, { retryAfterMs: waitOf(failure, answer) });
    },
    refusedBody: (answer) => bodyBeside(answer, { headers: manifest.errorHeaders, status: true }),
    refusal(answer, { accepts, creates = false }) {
      const { status } = answer;
      if (accepts?.includes(status)) return undefined;
      if (status >= 200 && status < 300) {
        const inside = manifest.errorInside?.safeParse(bodyOf(answer));
        if (!inside?.success) return undefined;
        const failure = inside.data === 'lost' && !creates ? 'unavailable' : inside.data; // a read makes nothing
        return connection.fail(failure, `refused${words(answer)}`, { retryAfterMs: waitOf(failure, answer) });
      }
      if (status < 400)
        return connection.fail('rejected', `sends us elsewhere (${status}): check the address of the server`);
      const body = connection.refusedBody(answer);
      const special = manifest.errorOf?.safeParse(body);
      const failure = special?.success ? special.data : (manifest.errors?.[status] ?? failureOfStatus(status, creates));
      const fits = (schema: z.ZodType | undefined) => schema?.safeParse(body).success ?? false;
      const refusal = fits(manifest.duplicateOf)
        ? 'duplicate'
        : fits(manifest.badAddressOf)
          ? 'bad_address'
          : undefined;
      return connection.fail(failure, `answered ${status}${words(answer)}`, {
        reason: failureReason(failure, { status, refusal }),
        retryAfterMs: waitOf(failure, answer),
      });
    },
  };
  return connection;
}

function failureOfLine({ failure, sent }: OutboundError, creates: boolean): ProviderFailure {
  if (failure === 'invalid' || failure === 'blocked' || failure === 'too_many_redirects') return 'rejected';
  return creates && sent ? 'lost' : 'unavailable';
}
