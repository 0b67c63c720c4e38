import { ProviderError } from '../../../platform/kernel/index.ts';
import { type Outbound, OutboundError } from '../../../platform/outbound/index.ts';
import type { Socket, Sockets } from './sockets.ts';

/** Greatest number of unread messages and bytes; more ends the connection. */
const MOST_CHARACTERS = 1024 * 1024;
const MOST_MESSAGES = 1_000;

/**
 * Opens the tool `sockets` over the guarded WebSocket. A failed connection is `unavailable`, a forbidden address
 * `rejected`.
 */
export const openSockets = (outbound: Pick<Outbound, 'webSocket'>): Sockets => ({
  async open(url, timeoutMs) {
    const host = URL.canParse(url) ? new URL(url).host : url;
    let ws: WebSocket;
    try {
      ws = outbound.webSocket(url);
    } catch (error) {
      const blocked = error instanceof OutboundError && (error.failure === 'blocked' || error.failure === 'invalid');
      throw new ProviderError(
        blocked ? 'rejected' : 'unavailable',
        `${host} cannot be called: ${error instanceof Error ? error.message : 'unknown'}`,
      );
    }
    const socket = wrap(ws);
    await opened(ws, host, timeoutMs);
    return socket;
  },
});

const opened = (ws: WebSocket, host: string, timeoutMs: number) =>
  new Promise<void>((resolve, reject) => {
    const refuse = (why: string) => {
      clearTimeout(timer);
      reject(new ProviderError('unavailable', `${host} ${why}`));
    };
    const timer = setTimeout(() => {
      refuse('did not open in time');
      ws.close();
    }, timeoutMs);
    ws.addEventListener('open', () => {
      clearTimeout(timer);
      resolve();
    });
    ws.addEventListener('error', () => refuse('refused the connection'));
    ws.addEventListener('close', () => refuse('closed the connection'));
  });

function wrap(ws: WebSocket): Socket {
  const messages: string[] = [];
  let waiting = 0;
  let closed = false;
  let wake = () => {};
  const note = () => wake();
  ws.addEventListener('message', ({ data }: MessageEvent) => {
    if (typeof data !== 'string' || closed) return;
    if (waiting + data.length > MOST_CHARACTERS || messages.length >= MOST_MESSAGES) {
      closed = true;
      ws.close();
    } else {
      messages.push(data);
      waiting += data.length;
    }
    note();
  });
  for (const end of ['close', 'error'] as const)
    ws.addEventListener(end, () => {
      closed = true;
      note();
    });
  return {
    send: (text) => ws.send(text),
    close() {
      closed = true;
      ws.close();
    },
    async next(signal) {
      while (messages.length === 0 && !closed && !signal?.aborted) {
        await new Promise<void>((resolve) => {
          wake = resolve;
          signal?.addEventListener('abort', () => resolve(), { once: true });
        });
      }
      const message = messages.shift();
      waiting -= message?.length ?? 0;
      return message;
    },
  };
}
