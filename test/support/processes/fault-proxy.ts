import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../wire/ports.ts';

// A wire between two processes that a test can break. Byte for byte until it is told otherwise.

/** `up`: what the client says; `down`: what it is answered. */
export type Way = 'up' | 'down';

/** Without `ways` it holds both ways. */
export type Fault =
  /** Each piece arrives so much later. */
  | { kind: 'delay'; ms: number; ways?: readonly Way[] }
  /** So few bytes of each connection arrive in a second. */
  | { kind: 'slow'; bytesPerSecond: number; ways?: readonly Way[] }
  /** Nothing arrives, and all of it does when the wire is whole again: TCP sends again what was lost. */
  | { kind: 'stop'; ways?: readonly Way[] }
  /** Connections end with a reset, and new ones at once. */
  | { kind: 'reset' }
  /**
   * The open connections are forgotten, as by a firewall: servers see them end, and clients hear nothing any more, not
   * even when the wire is whole again. New connections work.
   */
  | { kind: 'half-open' };

export interface FaultProxy extends AsyncDisposable {
  /** Of 127.0.0.1, where clients connect to. */
  readonly port: number;
  /** Connections that were made so far. */
  readonly connections: number;
  /** Breaks the wire in this way, and in no other. */
  break(fault: Fault): void;
  /** Lets the wire be whole again. */
  heal(): void;
}

/** Breaks the wire for so long. */
export async function brokenFor(proxy: FaultProxy, fault: Fault, ms: number): Promise<void> {
  proxy.break(fault);
  await sleep(ms);
  proxy.heal();
}

const SLICE_MS = 50;

/** What travels: bytes, the end of what is said, or a reset. */
type Piece = { bytes: Buffer } | 'end' | 'reset';

/** A wire to a port of 127.0.0.1. */
export async function startFaultProxy(target: number): Promise<FaultProxy> {
  const open = new Set<{ client: Socket; server: Socket }>();
  const forgotten = new Set<Socket>();
  let fault: Fault | undefined;
  let healed = Promise.withResolvers<void>();
  let connections = 0;

  /** The fault of this kind that holds on a way now. */
  function on<Kind extends Fault['kind']>(kind: Kind, way: Way): Extract<Fault, { kind: Kind }> | undefined {
    const now = fault;
    if (!now || now.kind !== kind) return undefined;
    const ways = 'ways' in now ? now.ways : undefined;
    return ways && !ways.includes(way) ? undefined : (now as Extract<Fault, { kind: Kind }>);
  }

  async function deliver(to: Socket, bytes: Buffer, way: Way): Promise<void> {
    let at = 0;
    while (at < bytes.length && !to.destroyed) {
      const slow = on('slow', way);
      const end = slow ? at + Math.ceil((slow.bytesPerSecond * SLICE_MS) / 1_000) : bytes.length;
      to.write(bytes.subarray(at, end));
      at = end;
      if (slow) await sleep(SLICE_MS);
    }
  }

  function carry(from: Socket, to: Socket, way: Way): void {
    const waiting: { piece: Piece; at: number }[] = [];
    let isMoving = false;
    async function move(): Promise<void> {
      if (isMoving) return;
      isMoving = true;
      for (let next = waiting.shift(); next !== undefined && !to.destroyed; next = waiting.shift()) {
        const earlyMs = next.at - performance.now();
        if (earlyMs > 0) await sleep(earlyMs);
        while (on('stop', way)) await healed.promise;
        if (next.piece === 'reset') to.resetAndDestroy();
        else if (next.piece === 'end') to.end();
        else await deliver(to, next.piece.bytes, way);
      }
      isMoving = false;
    }
    const take = (piece: Piece) => {
      if (forgotten.has(from)) return;
      waiting.push({ piece, at: performance.now() + (on('delay', way)?.ms ?? 0) });
      void move();
    };
    from
      .setNoDelay(true)
      .on('data', (bytes: Buffer) => take({ bytes }))
      .on('end', () => (forgotten.has(from) ? from.destroy() : take('end')))
      .on('error', () => take('reset'))
      .on('close', () => forgotten.delete(from));
  }

  const resetAll = () => {
    for (const { client, server } of open) {
      if (forgotten.has(client)) continue;
      client.resetAndDestroy();
      server.resetAndDestroy();
    }
  };
  const listener = createServer({ allowHalfOpen: true }, (client) => {
    connections += 1;
    if (fault?.kind === 'reset') return void client.on('error', () => undefined).resetAndDestroy();
    const server = connect({ port: target, host: '127.0.0.1', allowHalfOpen: true });
    const pair = { client, server };
    open.add(pair);
    carry(client, server, 'up');
    carry(server, client, 'down');
    const closed = () => void (client.destroyed && server.destroyed && open.delete(pair));
    client.on('close', closed);
    server.on('close', closed);
  });
  const port = await freePort();
  await once(listener.listen(port, '127.0.0.1'), 'listening');

  return {
    port,
    get connections() {
      return connections;
    },
    break(given) {
      const before = healed;
      healed = Promise.withResolvers();
      fault = given;
      before.resolve(); // what a former fault has stopped looks at this one
      if (given.kind === 'reset') resetAll();
      if (given.kind === 'half-open')
        for (const { client, server } of open) {
          forgotten.add(client);
          server.destroy();
        }
    },
    heal() {
      fault = undefined;
      healed.resolve();
    },
    async [Symbol.asyncDispose]() {
      fault = undefined;
      healed.resolve();
      const closed = once(listener, 'close');
      listener.close();
      for (const { client, server } of open) {
        client.destroy();
        server.destroy();
      }
      await closed;
    },
  };
}
