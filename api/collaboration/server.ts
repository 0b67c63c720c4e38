import { type IncomingMessage, ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';
import type { Context } from '../../src/context.ts';
import { asCallerError } from '../../src/platform/db/index.ts';
import { AppError, draining } from '../../src/platform/kernel/index.ts';
import { refusalText } from '../http/errors.ts';
import { type Exchange, exchangeOpening, openExchange } from '../http/exchange.ts';
import { hostCheck } from '../http/host.ts';
import { admit, type Admitted, Closed } from './admission.ts';
import { CLOSE, closeSocket, Connection, MOST_FRAME_BYTES } from './connection.ts';
import { openHall } from './hall.ts';
import { openReplicas } from './replicas.ts';

/** Milliseconds over which connections are closed at the end, and that saving may take before and after it. */
const CLOSING_MS = 3_000;
const SAVING_MS = 2_500;
const TRY_AGAIN = 'The document cannot be opened now: try again';

/** Serves the websocket of co-editing (S203 to S208). */
export async function openCollaborationServer(context: Context) {
  const { config, clock, logs } = context;
  const log = logs.of('collaboration');
  const { redisUrl } = config.collaboration;
  const replicas = redisUrl === undefined ? undefined : await openReplicas({ url: redisUrl, clock, log });
  const hall = openHall(context, replicas);
  const checkHost = hostCheck(config);
  const sockets = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: MOST_FRAME_BYTES,
  });
  const ending = new AbortController().signal; // sockets are closed by `drain`
  const opening = exchangeOpening(config, ending);
  let isClosing = false;

  function refuse({ request, headers }: Exchange, socket: Duplex, error: AppError): void {
    const body = refusalText(error, undefined, request.id, config.http.frontendUrl);
    const { retryAfterMs } = error.extra;
    const head = {
      ...headers,
      ...(typeof retryAfterMs === 'number' && { 'retry-after': Math.ceil(retryAfterMs / 1000) }),
      'content-type': 'application/json; charset=utf-8',
      'content-length': Buffer.byteLength(body),
      connection: 'close',
    };
    const lines = Object.entries(head).map(([name, value]) => `${name}: ${String(value)}\r\n`);
    socket.end(`HTTP/1.1 ${error.status} ${STATUS_CODES[error.status]}\r\n${lines.join('')}\r\n${body}`, () =>
      socket.destroy(),
    );
  }

  /** Enters a room; one that cannot be opened now is for the client to try again. */
  async function enter(ws: WebSocket, socket: Duplex, admitted: Admitted): Promise<void> {
    const { room, principal } = admitted;
    const { orgId } = principal;
    // what is sent before the room is open waits for it
    const early: [data: Buffer, isBinary: boolean][] = [];
    const hold = (data: Buffer, isBinary: boolean) => void early.push([data, isBinary]);
    ws.on('message', hold).on('error', () => {});
    ws.pause();
    const live = await hall.join(orgId, room).catch((error: unknown) => {
      const { code } = asCallerError(error);
      if (code !== 'not_found') log.warn({ room: room.name, err: error }, 'a document could not be opened');
      closeSocket(
        ws,
        code === 'not_found' ? CLOSE.notFound : CLOSE.tooMany,
        code === 'not_found' ? 'There is no such document' : TRY_AGAIN,
      );
      return undefined;
    });
    if (!live) return;
    const full = hall.isFull(live, principal.userId);
    const reason = isClosing ? 'Restarting: connect again' : full;
    if (reason !== undefined || ws.readyState !== ws.OPEN) {
      closeSocket(ws, isClosing ? CLOSE.restart : CLOSE.tooMany, reason ?? '');
      return hall.leave(orgId, room);
    }
    ws.off('message', hold);
    const connection = new Connection({
      ...admitted,
      ws,
      socket,
      clock,
      onFrame: (from, frame) => live.receive(from, frame),
      onClose: (gone) => {
        hall
          .exit(live, gone)
          .catch((error: unknown) => log.error({ room: room.name, err: error }, 'a room was not left'));
      },
    });
    hall.enter(live, connection);
    for (const [data, isBinary] of early) ws.emit('message', data, isBinary);
    ws.resume();
  }

  async function upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const exchange = openExchange(request, new ServerResponse(request), opening);
    socket.on('error', () => {});
    try {
      if (isClosing || context.health.draining) throw draining();
      checkHost(request.headers.host);
      const outcome = await admit(exchange, context).catch((error: unknown) => {
        if (error instanceof Closed) return error;
        throw error;
      });
      sockets.handleUpgrade(request, socket, head, (ws) => {
        if (!(outcome instanceof Closed))
          return void enter(ws, socket, outcome).catch((error: unknown) => {
            log.error({ room: outcome.room.name, err: error }, 'a room could not be entered');
            closeSocket(ws, CLOSE.tooMany, TRY_AGAIN);
          });
        ws.on('error', () => {});
        closeSocket(ws, outcome.code, outcome.message);
      });
    } catch (thrown) {
      const error = asCallerError(thrown);
      if (error.status >= 500 && error.code !== 'draining')
        log.warn({ err: thrown }, 'a websocket could not be opened');
      refuse(exchange, socket, error);
    }
  }

  return {
    upgrade,
    /** Takes nobody any more, saves what was typed and closes the connections. */
    async drain(): Promise<void> {
      isClosing = true;
      await hall.drain(CLOSING_MS, SAVING_MS);
      await replicas?.[Symbol.asyncDispose]();
      sockets.close();
    },
  };
}
