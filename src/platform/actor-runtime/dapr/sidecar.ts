import type { IncomingHttpHeaders } from 'node:http';
import { Pool } from 'undici';
import { AppError, busy, type Clock } from '../../kernel/index.ts';

/** More at a time helps nobody: daprd answers 32 callers as fast as 128. */
const CONNECTIONS = 64;
const WAITING = 10_000;
/**
 * How long an answer may take: twice as long as the most patient caller waits, and a turn takes seconds. Daprd, or the
 * connection to it, is gone by then; without an end one that never answers would keep its connection for ever.
 */
const ANSWER_MS = 60_000;
const SILENT = ['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT'];

export interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
}
interface Ask {
  method: 'GET' | 'POST';
  path: string;
  body?: string;
  headers?: Record<string, string>;
}

/**
 * The daprd of this process over HTTP. No caller aborts a request: one that leaves lets two turns of one actor run at
 * once in daprd.
 */
export interface Sidecar {
  /**
   * `lane`: requests of one lane share 64 connections. Work that waits for other work must not share a lane with it.
   * Rejects with `busy` when 10,000 wait in it, with `unavailable` when there was no answer in a minute, which says
   * nothing about what was asked, and with the error of the socket when that broke.
   */
  ask(lane: string, request: Ask): Promise<Answer>;
  close(): Promise<void>;
}

export interface SidecarOptions {
  port: number;
  token: string | undefined;
  connections?: number;
  waiting?: number;
  answerMs?: number;
}

export function openSidecar({
  port,
  token,
  connections = CONNECTIONS,
  waiting = WAITING,
  answerMs = ANSWER_MS,
}: SidecarOptions): Sidecar {
  const lanes = new Map<string, { pool: Pool; size: number }>();
  const laneOf = (name: string) => {
    let lane = lanes.get(name);
    if (!lane) {
      lane = {
        pool: new Pool(`http://127.0.0.1:${port}`, {
          connections,
          pipelining: 1,
          headersTimeout: answerMs,
          bodyTimeout: answerMs,
        }),
        size: 0,
      };
      lanes.set(name, lane);
    }
    return lane;
  };
  return {
    async ask(name, { method, path, body, headers = {} }) {
      const lane = laneOf(name);
      if (lane.size >= connections + waiting) throw busy(1_000);
      lane.size++;
      try {
        const answer = await lane.pool.request({
          method,
          path,
          body: body ?? null,
          headers: {
            ...headers,
            ...(body !== undefined && { 'content-type': 'application/json' }),
            ...(token !== undefined && { 'dapr-api-token': token }),
          },
        });
        return { status: answer.statusCode, headers: answer.headers, text: await answer.body.text() };
      } catch (error) {
        throw SILENT.includes(String(Object(error).code)) ? unanswered(error) : error;
      } finally {
        lane.size--;
      }
    },
    async close() {
      await Promise.all([...lanes.values()].map(({ pool }) => pool.destroy()));
    },
  };
}

const unanswered = (cause: unknown) =>
  new AppError('unavailable', 'The Dapr sidecar did not answer, try again shortly', { retryAfterMs: 1_000 }, { cause });

/**
 * Daprd's own code for a failure, for example `ERR_ACTOR_INSTANCE_MISSING`; undefined when the body is not of its
 * shape.
 */
export function errorCodeOf({ text }: Answer): string | undefined {
  try {
    const body: unknown = JSON.parse(text);
    return body !== null && typeof body === 'object' && 'errorCode' in body ? String(body.errorCode) : undefined;
  } catch {
    return undefined;
  }
}

/** The lane of what is asked about the sidecar itself. */
export const REPORT_LANE = ' report';
const LOOK_MS = 100;

/** Ends when the sidecar says at `path` that it is ready; rejects after `ms`. */
export async function waitForSidecar(sidecar: Sidecar, path: string, ms: number, clock: Clock): Promise<void> {
  const started = clock.monotonic();
  for (;;) {
    const status = await sidecar.ask(REPORT_LANE, { method: 'GET', path }).then(
      (answer) => answer.status,
      (error: Error) => error.message,
    );
    if (status === 204 || status === 200) return;
    if (clock.monotonic() - started > ms)
      throw new Error(
        `The Dapr sidecar was not ready within ${Math.round(ms / 1_000)} s (${path}: ${status}). Is daprd running, ` +
          'can it reach placement, scheduler and its components, and does --app-port name this process?',
      );
    await clock.sleep(LOOK_MS);
  }
}
