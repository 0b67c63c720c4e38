import { randomInt } from 'node:crypto';
import { mergeUpdates } from 'yjs';
import type { Clock } from '../../src/platform/kernel/index.ts';
import type { Log } from '../../src/platform/telemetry/index.ts';
import { UpdateRefused } from '../../src/studio/collaboration/updates.ts';
import { authorOf } from '../http/own.ts';
import { MOST_STATE_BYTES, openAwareness } from './awareness.ts';
import { CLOSE, type Connection } from './connection.ts';
import type { OpenDocument, Status } from './document.ts';
import * as frames from './frames.ts';
import { openSaving } from './saving.ts';

/** Milliseconds of silence after which a version is kept. */
const SESSION_MS = 60_000;

/** What a room sends to the same room in other processes. */
export interface Peers {
  update(update: Uint8Array): void;
  awareness(update: Uint8Array): void;
}
interface Options {
  clock: Clock;
  log: Log;
  document: OpenDocument;
  peers: Peers | undefined;
}

/** Other processes speak for the ids of their clients. */
const ELSEWHERE = {};

/** A document with those who have it open in this process. */
export function openLiveRoom({ clock, log, document, peers }: Options) {
  const connections = new Set<Connection>();
  const awareness = openAwareness(() => clock.monotonic());
  const saving = openSaving({ clock, log, document });
  /** The server among the clients: without a cursor, so that editors show nobody. */
  const self = { client: randomInt(1, 2 ** 32), clock: 1 };
  let leaving: Uint8Array[] = [];
  let isWritable = document.status.readOnly === null;
  let silence = new AbortController();
  let isChanged = false;

  const broadcast = (frame: Uint8Array) => {
    for (const connection of connections) connection.send(frame);
  };
  /** Updates of one turn of the process leave as one frame, written once. */
  const flushUpdates = () => {
    const update = leaving.length === 1 ? leaving[0]! : mergeUpdates(leaving);
    leaving = [];
    broadcast(frames.updateFrame(update));
    peers?.update(update);
  };
  const statusFrame = () =>
    frames.awarenessFrame(frames.awarenessUpdate([{ ...self, state: JSON.stringify({ server: document.status }) }]));

  async function keepSession(signal: AbortSignal): Promise<void> {
    await clock.sleep(SESSION_MS, signal);
    isChanged = false;
    await document.keep('session');
  }
  const touch = () => {
    saving.touch();
    isChanged = true;
    silence.abort();
    silence = new AbortController();
    const { signal } = silence;
    keepSession(signal).catch((error: unknown) => {
      if (!signal.aborted) log.warn({ room: document.key.room, err: error }, 'a version could not be kept');
    });
  };

  const refuse = (connection: Connection, reason: string) => connection.send(frames.deniedFrame(reason));
  function takeUpdate(connection: Connection, update: Uint8Array): void {
    if (connection.rights !== 'write' || !isWritable) {
      if (connection.isTold || !document.isNew(update)) return;
      connection.isTold = true;
      return refuse(connection, 'permission denied');
    }
    try {
      if (document.type(update, authorOf(connection.principal))) touch();
    } catch (error) {
      if (!(error instanceof UpdateRefused)) throw error;
      refuse(connection, error.message);
    }
  }
  function takeAwareness(connection: Connection, update: Uint8Array): void {
    const { told, isTooLarge } = awareness.receive(connection, update);
    if (isTooLarge) refuse(connection, `an awareness state has at most ${MOST_STATE_BYTES} bytes`);
    if (!told) return;
    broadcast(frames.awarenessFrame(told));
    peers?.awareness(told);
  }
  function take(connection: Connection, reader: frames.FrameReader): void {
    switch (reader.number()) {
      case frames.SYNC: {
        const step = reader.number();
        const bytes = reader.bytes();
        if (!reader.isDone) break;
        if (step === frames.STEP1) return connection.send(frames.step2Frame(document.missing(bytes)));
        if (step === frames.STEP2 || step === frames.UPDATE) return takeUpdate(connection, bytes);
        break;
      }
      case frames.AWARENESS: {
        const bytes = reader.bytes();
        if (reader.isDone) return takeAwareness(connection, bytes);
        break;
      }
      case frames.QUERY_AWARENESS:
        if (reader.isDone) return tellAwareness(connection);
    }
    throw new frames.Malformed('no frame of y-websocket');
  }
  const tellAwareness = (connection: Connection) => {
    const states = awareness.all();
    if (states) connection.send(frames.awarenessFrame(states));
  };

  return {
    document,
    connections,
    /** What the document gains is told to everybody who has it open, and to other processes. */
    spread(update: Uint8Array): void {
      if (leaving.length === 0) setImmediate(flushUpdates);
      leaving.push(update);
    },
    tellStatus(status: Status): void {
      self.clock += 1;
      broadcast(statusFrame());
      const opens = !isWritable && status.readOnly === null;
      isWritable = status.readOnly === null;
      // what was typed while it was closed lies with the clients: they are asked for it
      if (opens) broadcast(frames.step1Frame(document.vector));
    },
    enter(connection: Connection): void {
      connections.add(connection);
      connection.send(frames.step1Frame(document.vector));
      connection.send(statusFrame());
      tellAwareness(connection);
    },
    leave(connection: Connection): void {
      if (!connections.delete(connection)) return;
      const gone = awareness.leave(connection);
      if (!gone) return;
      broadcast(frames.awarenessFrame(gone));
      peers?.awareness(gone);
    },
    /** A frame of a client; one that is none of y-websocket closes its connection and changes nothing. */
    receive(connection: Connection, frame: Uint8Array): void {
      try {
        take(connection, new frames.FrameReader(frame));
      } catch {
        connection.close(CLOSE.malformed, 'Not a frame of y-websocket');
      }
    },
    /** What another process sends: an update of the document. Throws for bytes that are none. */
    receiveUpdate(update: Uint8Array): void {
      if (!document.receive(update)) return;
      broadcast(frames.updateFrame(update));
      touch();
    },
    receiveAwareness(update: Uint8Array): void {
      const { told } = awareness.receive(ELSEWHERE, update);
      if (told) broadcast(frames.awarenessFrame(told));
    },
    /** The states of the clients of this process, for another one; undefined without any. */
    ownAwareness: () => {
      const states = [...connections].flatMap((connection) => awareness.all(connection) ?? []);
      return states;
    },
    /** Says something to everybody, so that no client takes the silence for the end of its connection. */
    beat(): void {
      self.clock += 1;
      broadcast(statusFrame());
      const old = awareness.forgetOld(ELSEWHERE);
      if (old) broadcast(frames.awarenessFrame(old));
      for (const connection of connections) connection.probe();
    },
    touch: () => saving.touch(),
    /** Saves everything; ends when it is saved. */
    flush: () => saving.flush(),
    /** Saves everything and keeps a version of what was changed. */
    async end(): Promise<void> {
      silence.abort();
      await saving.flush();
      if (!isChanged) return;
      isChanged = false;
      await document.keep('session');
    },
    stop(): void {
      silence.abort();
      saving.stop();
    },
  };
}
export type LiveRoom = ReturnType<typeof openLiveRoom>;
