import { Socket } from 'node:net';
import postgres from 'postgres';
import { endAbandoned } from './abandoned.ts';
import { ARRAY_TYPES } from './arrays.ts';
import type { Handler, Query } from './sending.ts';

// A firewall or a NAT that forgets a connection tells nobody: statements on it wait until TCP gives up, a quarter of an
// hour or more. Whether a statement that takes long is slow or was never heard of is known to the server, and a new
// connection can ask it.

const TICK_MS = 1_000;
/** Statements younger than this are not asked about, and connections that were heard of since are left alone. */
const PATIENCE_MS = 3_000;
const CONFIRM_MS = 500;

interface Heard {
  bytes: number;
  at: number;
}

const closed = () =>
  Object.assign(new Error('The connection to the database was ended'), { code: 'CONNECTION_CLOSED' });

/**
 * Ends a connection with an error: without one the driver tells a transaction only when it has let go of the socket,
 * and fails where it then writes the rollback to it. Over TLS nobody listens to this socket's errors.
 */
function end(socket: Socket): void {
  if (socket.listenerCount('error') === 0) socket.destroy();
  else socket.destroy(closed());
}

/**
 * The driver tells nobody of statements that it sent after the error of a connection and before its close, when that is
 * said to follow an error: they would wait for ever. What is told of an error and asks again does so in just that time.
 */
function tellAll(socket: Socket): void {
  const emit = socket.emit.bind(socket) as (event: string, ...args: unknown[]) => boolean;
  socket.emit = (event: string, ...args: unknown[]) => (event === 'close' ? emit(event, false) : emit(event, ...args));
}

/** The connections of a pool and of the sessions beside it, to be ended together when one of them is found frozen. */
export interface ConnectionLines {
  open(options: { host: string[]; port: number[]; path?: string }): Socket;
  /** Ends those that were not heard of for a while; the pool makes new ones. */
  endSilent(): void;
  look(): void;
  /** The processes of the server whose connection ended under a statement since the last `endSilent`. */
  readonly cut: Set<number>;
}

export function openConnectionLines(): ConnectionLines {
  const heard = new Map<Socket, Heard>();
  const cut = new Set<number>();
  let turn = 0;
  return {
    cut,
    /** For the driver's option `socket`: not connected yet, what is written waits. */
    open({ host, port, path }) {
      const socket = new Socket();
      heard.set(socket, { bytes: 0, at: performance.now() });
      socket.once('close', () => heard.delete(socket));
      socket.once('end', () => end(socket));
      socket.once('connect', () => tellAll(socket));
      if (path) return socket.connect(path);
      const n = turn++ % port.length;
      // the driver reads these two for TLS
      return Object.assign(socket.connect(port[n]!, host[n]!), { host: host[n], port: port[n] });
    },
    look() {
      for (const [socket, { bytes }] of heard)
        if (socket.bytesRead !== bytes) heard.set(socket, { bytes: socket.bytesRead, at: performance.now() });
    },
    endSilent() {
      this.look();
      cut.clear();
      for (const [socket, { at }] of heard) if (performance.now() - at >= PATIENCE_MS) end(socket);
    },
  };
}

/**
 * Sends the statements of a client, and watches them: one that the server does not work on, though it was sent, ends the
 * silent connections. `ended` is told of each statement, before whoever sent it.
 */
export function openWatch(sql: postgres.Sql, lines: ConnectionLines): (...args: Parameters<typeof sent>) => void {
  const waiting = new Map<Query, number>();
  let timer: NodeJS.Timeout | undefined;
  let checking = false;

  function tick(): void {
    lines.look();
    const [oldest] = waiting.values();
    if (oldest === undefined) {
      clearInterval(timer);
      timer = undefined;
    } else if (!checking && performance.now() - oldest >= PATIENCE_MS) void check();
  }
  /** The processes of the server that should be at work for us, by what we know here. */
  const overdue = () => {
    const pids = new Set<number>();
    for (const [{ state }, since] of waiting)
      if (performance.now() - since >= PATIENCE_MS && state?.pid) pids.add(state.pid);
    return pids;
  };

  async function check(): Promise<void> {
    checking = true;
    const probe = postgres({
      ...sql.options,
      types: ARRAY_TYPES,
      max: 1,
      connect_timeout: 3,
      onclose: () => {},
    } as unknown as postgres.Options<{}>);
    try {
      const frozen = await notAtWork(probe, overdue());
      if (frozen.size === 0) return;
      await new Promise((over) => setTimeout(over, CONFIRM_MS));
      const still = overdue(); // an answer may have been on its way
      const sure = [...(await notAtWork(probe, new Set([...frozen].filter((pid) => still.has(pid)))))];
      if (sure.length === 0) return;
      lines.endSilent();
      await new Promise(setImmediate); // their statements are told
      // What those processes hold, locks above all, is freed now; else the server keeps it until TCP gives up there.
      // Those of other sessions on these lines, too, which nobody else asks about once their statements have ended: one
      // holds the database for this host.
      const terminated = new Set([...sure, ...lines.cut]);
      await probe`select pg_terminate_backend(pid) from unnest(${[...terminated]}::int[]) pid`;
      for (const query of waiting.keys())
        // over TLS `tellAll` does nothing
        if (query.state?.pid && terminated.has(query.state.pid)) query.reject(closed());
      // transactions that stood still between two statements show by now
      await new Promise((over) => setTimeout(over, 2 * PATIENCE_MS));
      await endAbandoned(probe, 2 * PATIENCE_MS);
    } catch {
      // the database is away altogether: the next tick asks again
    } finally {
      await probe.end({ timeout: 0 }).catch(() => {});
      checking = false;
    }
  }

  /** Finds connections that are gone, have nothing to do, or wait for us. */
  async function notAtWork(probe: postgres.Sql, pids: ReadonlySet<number>): Promise<Set<number>> {
    if (pids.size === 0) return new Set();
    const rows = await probe<{ pid: number }[]>`
      select pid
      from pg_stat_activity
      where pid = any(${[...pids]}::int[])
        and state = 'active'
        and wait_event_type is distinct from 'Client'`;
    const busy = new Set(rows.map(({ pid }) => pid));
    return new Set([...pids].filter((pid) => !busy.has(pid)));
  }

  function sent(query: Query, handler: Handler, ended?: (text: string | undefined) => void): void {
    const { resolve, reject } = query;
    waiting.set(query, performance.now());
    query.resolve = (result) => {
      waiting.delete(query);
      ended?.(query.string);
      resolve(result);
    };
    query.reject = (error) => {
      waiting.delete(query);
      if (query.state?.pid && Object(error).code === 'CONNECTION_CLOSED') lines.cut.add(query.state.pid);
      ended?.(query.string);
      reject(error);
    };
    timer ??= setInterval(tick, TICK_MS).unref();
    handler(query);
  }

  return sent;
}
