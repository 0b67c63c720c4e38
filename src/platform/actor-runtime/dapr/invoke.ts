import { randomInt } from 'node:crypto';
import { AppError, busy, type Clock, newId, notFound } from '../../kernel/index.ts';
import type { Address } from '../engine.ts';
import type { RuntimeLog } from '../host.ts';
import { escapeName, isDigest, wireName } from './escape.ts';
import { type Answer, errorCodeOf, type Sidecar } from './sidecar.ts';
import {
  CALLER_HEADER,
  COMMAND_HEADER,
  decode,
  encode,
  ERROR_HEADER,
  errorFrom,
  ID_HEADER,
  LENGTH_HEADER,
  TRACE_HEADER,
} from './wire.ts';

export interface InvokeOptions {
  sidecar: Sidecar;
  clock: Clock;
  log: RuntimeLog;
  /** What processes of this instance know each other by. */
  callerToken: string;
  /** Whether any host may have this type. Daprd cannot tell an unknown type from one whose hosts are all away. */
  isType(type: string): boolean;
  /**
   * A call whose tries all fail is repeated this long, counted from the first failure: a host that was killed alone
   * needs 3 s. A host that answers `draining` is there and about to be followed: its time does not count.
   */
  repeatMs: number;
  /** A caller waits at most this long, and no try begins later; the last one goes on. */
  patienceMs: number;
  /** The header that continues the caller's trace; undefined: there is none. */
  traceparent(): string | undefined;
}

const FIRST_PAUSE_MS = 40;
const LONGEST_PAUSE_MS = 500;

/** `drains`: a host answered, and another one will take the actor soon. */
type Outcome = { done: unknown } | { failed: AppError } | { again: unknown; drains?: boolean };

/** Reads an answer by the three cases of the wire: typed error, result, or a failure of the engine's own. */
function read(answer: Answer): Outcome {
  if (answer.status === 200 && answer.headers[LENGTH_HEADER] !== `${Buffer.byteLength(answer.text)}`)
    return { again: new Error('daprd answered 200 without the whole answer of a host') };
  if (answer.status === 200 && answer.headers[ERROR_HEADER] !== undefined) {
    const error = errorFrom(answer.text);
    return error.code === 'draining' ? { again: error, drains: true } : { failed: error };
  }
  if (answer.status === 200) return { done: decode(answer.text) };
  const cause = new Error(`daprd answered ${answer.status} ${answer.text.slice(0, 300)}`);
  if (answer.status === 413)
    return { failed: new AppError('too_large', 'The input of this call is too large', {}, { cause }) };
  if (answer.status === 400 && errorCodeOf(answer) === 'ERR_BAD_REQUEST') return { failed: internal(cause) };
  // a wrong token does not become right by trying
  if (answer.status === 401 || answer.status === 403) return { failed: internal(cause) };
  return { again: cause };
}
const internal = (cause: unknown) => new AppError('internal', 'Something went wrong on our side', {}, { cause });

/**
 * Calls of actor methods. What failed in between is repeated with the same command id: daprd may have run it, and the
 * host runs one id once.
 */
export function openCaller({
  sidecar,
  clock,
  log,
  callerToken,
  isType,
  repeatMs,
  patienceMs,
  traceparent,
}: InvokeOptions) {
  async function attempt(to: Address, path: string, body: string, headers: Record<string, string>): Promise<Outcome> {
    try {
      return read(await sidecar.ask(to.type, { method: 'POST', path, body, headers }));
    } catch (error) {
      return error instanceof AppError ? { failed: error } : { again: error };
    }
  }

  /**
   * A call that reaches a daprd in the middle of its shutdown may never be answered. It is left to itself, not aborted,
   * and the next try finds the actor's new host.
   */
  async function answeredSoon(tried: Promise<Outcome>): Promise<Outcome> {
    const answered = new AbortController();
    const silence = clock.sleep(repeatMs, answered.signal).then(
      () => ({ again: new Error('daprd did not answer') }),
      () => tried,
    );
    return Promise.race([tried, silence]).finally(() => answered.abort());
  }

  async function call(to: Address, method: string, input: unknown): Promise<unknown> {
    const commandId = newId();
    const id = wireName(to.id);
    const trace = traceparent();
    const headers = {
      [CALLER_HEADER]: callerToken,
      [COMMAND_HEADER]: commandId,
      ...(isDigest(id) && { [ID_HEADER]: encodeURIComponent(to.id) }),
      ...(trace !== undefined && { [TRACE_HEADER]: trace }),
    };
    const path = `/v1.0/actors/${escapeName(to.type)}/${id}/method/${escapeName(method)}`;
    const body = encode(input);
    const begun = clock.monotonic();
    let firstFailure: number | undefined;
    let isRepeat = false;
    for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
      const tried = attempt(to, path, body, headers);
      const outcome = await (isRepeat ? answeredSoon(tried) : tried);
      if ('done' in outcome) return outcome.done;
      if ('failed' in outcome) {
        if (outcome.failed.cause !== undefined)
          log.error({ to, method, commandId, err: outcome.failed.cause }, 'actor call failed');
        throw outcome.failed;
      }
      isRepeat = true;
      const now = clock.monotonic();
      firstFailure = outcome.drains ? undefined : (firstFailure ?? now);
      const isGivenUp = firstFailure !== undefined && now - firstFailure + pause > repeatMs;
      if (isGivenUp || now - begun + pause > patienceMs) {
        log.warn({ to, method, commandId, err: outcome.again }, 'actor could not be reached');
        throw busy(1_000);
      }
      await clock.sleep(pause * (0.75 + randomInt(1_000) / 2_000));
    }
  }

  const patience = waitAtMost(patienceMs, clock);
  return {
    async invoke(to: Address, method: string, input: unknown): Promise<unknown> {
      if (!isType(to.type)) throw notFound(`No actor type ${to.type}`);
      if (method === 'remind' || method === 'timer' || !method.isWellFormed())
        throw notFound(`No method ${method} of ${to.type}`);
      return patience.race(call(to, method, input));
    },
    close: () => patience.close(),
  };
}

/**
 * Ends the wait of callers that have waited long enough, without touching what they wait for. One timer for all of
 * them.
 */
function waitAtMost(ms: number, clock: Clock) {
  const waiting = new Set<{ until: number; give(): void }>();
  const sweep = setInterval(
    () => {
      const now = clock.monotonic();
      for (const one of waiting) {
        if (one.until > now) break; // in order of arrival
        waiting.delete(one);
        one.give();
      }
    },
    Math.min(ms, 500),
  );
  sweep.unref();
  return {
    race: <T>(work: Promise<T>) =>
      new Promise<T>((done, fail) => {
        const one = { until: clock.monotonic() + ms, give: () => fail(busy(1_000)) };
        waiting.add(one);
        work.then(done, fail).finally(() => waiting.delete(one));
      }),
    close: () => clearInterval(sweep),
  };
}
