import type { IncomingHttpHeaders } from 'node:http';
import { Pool } from 'undici';
import { busy } from '../../kernel/index.ts';

/** More at a time helps nobody: daprd answers 32 callers as fast as 128. */
const CONNECTIONS = 64;
const WAITING = 10_000;

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
 * The daprd of this process over HTTP. Requests are never aborted: a caller that leaves lets two turns of one actor run
 * at once in daprd.
 */
export interface Sidecar {
  /**
   * `lane`: requests of one lane share 64 connections. Work that waits for other work must not share a lane with it.
   * Rejects with `busy` when 10,000 wait in it, and with the socket's error when there was no answer.
   */
  ask(lane: string, request: Ask): Promise<Answer>;
  close(): Promise<void>;
}

export interface SidecarOptions {
  port: number;
  token: string | undefined;
  connections?: number;
  waiting?: number;
}

export function openSidecar({ port, token, connections = CONNECTIONS, waiting = WAITING }: SidecarOptions): Sidecar {
  const lanes = new Map<string, { pool: Pool; size: number }>();
  const laneOf = (name: string) => {
    let lane = lanes.get(name);
    if (!lane) {
      lane = {
        pool: new Pool(`http://127.0.0.1:${port}`, { connections, pipelining: 1, headersTimeout: 0, bodyTimeout: 0 }),
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
      } finally {
        lane.size--;
      }
    },
    async close() {
      await Promise.all([...lanes.values()].map(({ pool }) => pool.destroy()));
    },
  };
}

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
