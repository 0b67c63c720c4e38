import { randomInt } from 'node:crypto';
import { mergeUpdates } from 'yjs';
import type { Clock } from '../../src/platform/kernel/index.ts';
import type { Log } from '../../src/platform/telemetry/index.ts';
import { type Typist, whoCounts } from '../../src/studio/collaboration/index.ts';
import { openAgents } from './agents.ts';
import { ELSEWHERE, gatherAwareness, openAwareness } from './awareness.ts';
import { CLOSE, type Connection } from './connection.ts';
import type { OpenDocument } from './document.ts';
import * as frames from './frames.ts';
import type { Saved, Status } from './held.ts';
import { receiveFrame, type Receiving } from './receive.ts';
import { openSaving } from './saving.ts';
import { openSession } from './session.ts';
import { encode, withPing } from './wire.ts';

/** What a room sends to the same room in other processes. */
export interface Peers {
  update(update: Uint8Array, by: Typist | undefined): void;
  /** What clients of a person say of themselves. */
  awareness(person: string, update: Uint8Array): void;
  /** What was written. */
  saved(saved: Saved): void;
}
interface Options {
  clock: Clock;
  log: Log;
  document: OpenDocument;
  peers: Peers | undefined;
}

const frameOfStatus = (server: { client: number; clock: number }, status: Status): Uint8Array =>
  frames.awarenessFrame(frames.awarenessUpdate([{ ...server, state: JSON.stringify({ server: status }) }]));

/** Updates of one tick of the process are told as one. */
function gatherUpdates(tell: (update: Uint8Array, by: Typist | undefined) => void) {
  let gathered: { update: Uint8Array; by: Typist | undefined }[] = [];
  const flush = () => {
    const update = gathered.length === 1 ? gathered[0]!.update : mergeUpdates(gathered.map((one) => one.update));
    const by = whoCounts(gathered.flatMap((one) => one.by ?? []));
    gathered = [];
    tell(update, by);
  };
  return (update: Uint8Array, by: Typist | undefined): void => {
    if (gathered.length === 0) setImmediate(flush);
    gathered.push({ update, by });
  };
}

/** A document with those who have it open in this process. */
export function openLiveRoom({ clock, log, document, peers }: Options) {
  const connections = new Set<Connection>();
  const awareness = openAwareness(() => clock.monotonic());
  const saving = openSaving({ clock, log, document, onSaved: () => peers?.saved(document.takeSaved()) });
  const session = openSession({ clock, log, document });
  /** The server among the clients: without a cursor, so that editors show nobody. */
  const self = { client: randomInt(1, 2 ** 32), clock: 1 };
  const statusFrame = () => frameOfStatus(self, document.status);
  let isWritable = document.status.readOnly === null;

  /** Tells everybody here, in one form that is made once. */
  const broadcast = (frame: Uint8Array) => {
    if (connections.size === 0) return;
    const encoded = encode(frame);
    for (const connection of connections) connection.send(encoded);
  };
  const spread = gatherUpdates((update, by) => {
    broadcast(frames.updateFrame(update));
    peers?.update(update, by);
  });
  const touch = (by: 'own' | 'others') => {
    saving.touch(by);
    session.touch();
  };

  const { gather, end: endGathering } = gatherAwareness(clock, (all) => {
    broadcast(frames.awarenessFrame(frames.awarenessUpdate(all.map(({ entry }) => entry))));
    for (const [person, of] of Map.groupBy(all, ({ person: whose }) => whose))
      if (person !== undefined) peers?.awareness(person, frames.awarenessUpdate(of.map(({ entry }) => entry)));
  });
  const agents = openAgents({ clock, awareness, tell: gather });
  const tellAwareness: Receiving['tellAwareness'] = (person, entries) => gather(entries, person);
  const receiving: Receiving = {
    document,
    awareness,
    isWritable: () => isWritable,
    touch: () => touch('own'),
    tellAwareness,
  };

  return {
    document,
    connections,
    /** What the document gains is told to everybody who has it open, and to other processes. */
    spread,
    showAgents: (names: readonly string[]) => names.forEach((name) => agents.show(name)),
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
      const states = awareness.all();
      const told = [
        frames.step1Frame(document.vector),
        statusFrame(),
        ...(states ? [frames.awarenessFrame(states)] : []),
      ];
      connection.send(encode(...told));
    },
    /** Asks a client for what is not here: it may write now, and has kept what it was refused. */
    ask: (connection: Connection) => connection.send(encode(frames.step1Frame(document.vector))),
    leave(connection: Connection): void {
      if (!connections.delete(connection)) return;
      tellAwareness(connection.principal.userId, awareness.leave(connection));
    },
    /** A frame of a client; one that is none of y-websocket closes its connection and changes nothing. */
    receive(connection: Connection, frame: Uint8Array): void {
      try {
        receiveFrame(receiving, connection, frame);
      } catch {
        connection.close(CLOSE.malformed, 'Not a frame of y-websocket');
      }
    },
    /** What another process sends: an update of the document, and who has typed it. Throws for bytes that are none. */
    receiveUpdate(update: Uint8Array, by: Typist | undefined): void {
      if (!document.receive(update, by)) return;
      broadcast(frames.updateFrame(update));
      touch('others');
    },
    /** What another process says of its writing. */
    receiveSaved(saved: Saved): void {
      document.follow(saved);
      saving.follow();
    },
    receiveAwareness(person: string, update: Uint8Array): void {
      gather(awareness.receive(ELSEWHERE, person, update).told);
    },
    /** The states of the clients of this process, for another one. */
    ownAwareness: () =>
      [...connections].flatMap((connection) => {
        const update = awareness.all(connection);
        return update ? [{ person: connection.principal.userId, update }] : [];
      }),
    /** Says something to everybody, so that no client takes the silence for the end of its connection. */
    heartbeat(): void {
      self.clock += 1;
      const asking = withPing(encode(statusFrame()));
      for (const connection of connections) connection.probe(asking);
      gather(awareness.forgetOld());
    },
    /** Saves everything; ends when it is saved. */
    flush: () => saving.flush(),
    /** Saves everything and keeps a version of what was changed. */
    async end(): Promise<void> {
      await saving.flush();
      await session.end();
    },
    stop(): void {
      endGathering(); // who has left is told to other processes before the room is gone
      session.stop();
      agents.stop();
      saving.stop();
    },
  };
}
export type LiveRoom = ReturnType<typeof openLiveRoom>;
