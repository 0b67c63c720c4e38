import { randomBytes } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import type { Database } from '../../../../src/platform/db/index.ts';
import { FLUSH, messagesOf, openPool, openStatements, PARSE, QUERY, READY, SYNC } from './postgres-wire.ts';

/** `before`: the statement never reaches the server; `after`: its answer never comes back. */
export type Cut = 'before' | 'after' | undefined;
interface Watched {
  /** Told of each statement as it is sent, `begin` and `commit` among them. */
  onStatement?(text: string): Cut;
  connections?: number;
}

/**
 * A pool as the product opens its own, with each of its connections under watch. `kill` lets it be as in a process that
 * has died: the server sees its connections end, and whoever waits for an answer waits for ever.
 */
export function watchedDatabase(url: string, { onStatement = () => undefined, connections = 4 }: Watched = {}) {
  const { hostname, port } = new URL(url);
  const sockets = new Set<Socket>();
  const application = `watched-${randomBytes(6).toString('hex')}`;
  const watched = { isDead: false, pending: 0 };
  const waiting: (() => void)[] = [];
  const change = (by: number): void => {
    watched.pending += by;
    if (watched.pending === 0) waiting.splice(0).forEach((goOn) => goOn());
  };

  function die(): void {
    watched.isDead = true;
    for (const socket of sockets) socket.destroy();
    sockets.clear();
  }

  function open(): Socket {
    const socket = connect({ host: hostname, port: Number(port || 5432), noDelay: true });
    sockets.add(socket);
    const statementsOf = openStatements();
    const emit = socket.emit.bind(socket);
    const write = socket.write.bind(socket) as (bytes: Buffer, ...rest: unknown[]) => boolean;
    let came: Buffer = Buffer.alloc(0);
    let greeted = false;
    let asked = 0;
    let described = false;
    let diesAt: number | undefined;
    let answered = 0;
    const count = (by: number) => {
      asked += by;
      change(by);
    };

    /** What the driver writes: whole messages. False: it is not sent. */
    function heard(bytes: Buffer): boolean {
      for (const { type, text } of statementsOf(bytes)) {
        if (text !== undefined && type !== PARSE) {
          const cut = onStatement(text);
          if (watched.isDead) return false;
          if (cut === 'before') {
            die();
            return false;
          }
          if (cut === 'after') diesAt = answered + asked + 1;
        }
        if (type === SYNC || type === QUERY) count(1);
        if (type === FLUSH && !described) {
          described = true;
          change(1);
        }
      }
      return true;
    }
    function isWanted(bytes: Buffer): boolean {
      if (described) {
        described = false;
        change(-1);
      }
      came = Buffer.concat([came, bytes]);
      let read = 0;
      for (const { type, end } of messagesOf(came)) {
        read = end;
        if (type !== READY) continue;
        if (!greeted) greeted = true;
        else {
          count(-1);
          answered += 1;
          if (answered === diesAt) {
            die();
            return false;
          }
        }
      }
      came = came.subarray(read);
      return true;
    }

    socket.write = ((bytes: Buffer, ...rest: unknown[]) => {
      if (watched.isDead || (greeted && !heard(bytes))) return true;
      return write(bytes, ...rest);
    }) as Socket['write'];
    socket.emit = ((event: string, ...given: unknown[]) => {
      if (event === 'close') {
        sockets.delete(socket);
        change(-asked - (described ? 1 : 0));
        [asked, described] = [0, false];
      }
      if (watched.isDead) return false;
      if (event === 'data' && !isWanted(given[0] as Buffer)) return false;
      return emit(event, ...given);
    }) as Socket['emit'];
    return socket;
  }

  const sql = openPool(url, application, { max: connections, socket: open });
  return {
    sql,
    /** Statements whose answers are not whole yet. */
    get pending() {
      return watched.pending;
    },
    /** Until each of them has come. */
    idle: () => new Promise<void>((goOn) => (watched.pending === 0 ? goOn() : void waiting.push(goOn))),
    get isDead() {
      return watched.isDead;
    },
    kill: die,
    /** Whether the server still has connections of it, by another one: their locks go with them. */
    isHeld: async (other: Database): Promise<boolean> =>
      (await other`select from pg_stat_activity where application_name = ${application}`).length > 0,
  };
}
export type WatchedDatabase = ReturnType<typeof watchedDatabase>;
