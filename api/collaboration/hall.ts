import type { Context } from '../../src/context.ts';
import { startLoop } from '../../src/platform/flow/index.ts';
import { notFound } from '../../src/platform/kernel/index.ts';
import type { RoomName } from './address.ts';
import { closeOver } from './closing.ts';
import type { Connection } from './connection.ts';
import { openCrowd } from './crowd.ts';
import { openDocument } from './document.ts';
import { sourceOf } from './kinds.ts';
import { type LiveRoom, openLiveRoom } from './live-room.ts';
import type { Replicas } from './replicas.ts';
import { judgeRights, lookAtSources, type Watched } from './watch.ts';

/** Milliseconds between two looks at rights and posts; with every thousand connections a second more. */
const LOOK_MS = 2_000;
/** Between two signs of life: a client gives up after 30 s of silence. */
const HEARTBEAT_MS = 15_000;

interface Entry {
  orgId: string;
  room: RoomName;
  /** Connections that are in, or on their way. */
  users: number;
  live: Promise<LiveRoom>;
  opened: LiveRoom | undefined;
}

/** Opens a room with the document that stands. */
async function openRoom(
  context: Context,
  { orgId, room }: Pick<Entry, 'orgId' | 'room'>,
  { replicas, onOtherProcess }: { replicas: Replicas | undefined; onOtherProcess: () => void },
): Promise<LiveRoom> {
  const { documents, clock, logs } = context;
  const log = logs.of('collaboration');
  const key = { orgId, room: room.name };
  const source = sourceOf(context, orgId, room);
  const row = await documents.open(key, async () => {
    const found = await source.read();
    if (!found) throw notFound();
    return found.contents;
  });
  let live: LiveRoom | undefined;
  const document = openDocument({
    documents,
    clock,
    log,
    key,
    row,
    source,
    onUpdate: (update, by) => live?.spread(update, by),
    onStatus: (status) => live?.tellStatus(status),
    onAgents: (names) => live?.showAgents(names),
    onOtherProcess,
  });
  // edits that came while nobody had it open enter before anybody is answered
  await document.agree();
  live = openLiveRoom({ clock, log, document, peers: replicas?.peersOf(key) });
  await replicas?.enter(key, live);
  return live;
}

/** The rooms that are open in this process. */
export function openHall(context: Context, replicas: Replicas | undefined) {
  const { clock, logs, documents } = context;
  const log = logs.of('collaboration');
  const entries = new Map<string, Entry>();
  const crowd = openCrowd();

  const { singleInstance, redisUrl } = context.config.collaboration;
  function onOtherProcess(): void {
    if (!singleInstance || redisUrl !== undefined || documents.isShared) return;
    documents.isShared = true;
    log.error({}, 'documents are open in several processes: set COLLAB_REDIS_ADAPTER, or people see each other late');
  }

  const nameOf = (orgId: string, room: RoomName) => `${orgId} ${room.name}`;
  /** Opens a room or joins the one that is open; `leave` follows each. */
  async function join(orgId: string, room: RoomName): Promise<LiveRoom> {
    const name = nameOf(orgId, room);
    let entry = entries.get(name);
    if (!entry) {
      const made: Entry = {
        orgId,
        room,
        users: 0,
        live: openRoom(context, { orgId, room }, { replicas, onOtherProcess }),
        opened: undefined,
      };
      entries.set(name, (entry = made));
      made.live.then(
        (live) => (made.opened = live),
        () => void (entries.get(name) === made && entries.delete(name)),
      );
    }
    entry.users += 1;
    return entry.live;
  }
  async function leave(orgId: string, room: RoomName): Promise<void> {
    const name = nameOf(orgId, room);
    const entry = entries.get(name);
    if (!entry || --entry.users > 0) return;
    const live = await entry.live.catch(() => undefined);
    if (!live) return;
    await live.end().catch((error: unknown) => log.warn({ room: room.name, err: error }, 'a room could not be saved'));
    if (entry.users > 0 || entries.get(name) !== entry) return; // somebody came back
    entries.delete(name);
    live.stop();
    await replicas?.leave(live.document.key);
  }

  const watched = (): Watched[] =>
    [...entries.values()].flatMap(({ orgId, room, opened }) => (opened ? [{ orgId, room, live: opened }] : []));
  const all = () => watched().map(({ live }) => live);
  const connections = () => all().flatMap((live) => [...live.connections]);

  const onError = (error: unknown) => void log.warn({ err: error }, 'open rooms could not be looked at');
  const looking = startLoop({
    clock,
    restMs: LOOK_MS,
    firstRestMs: LOOK_MS,
    onError,
    async round() {
      if (entries.size === 0) return;
      await Promise.all([judgeRights(context, watched()), lookAtSources(context, watched())]);
      return LOOK_MS + crowd.size;
    },
  });
  const beating = startLoop({
    clock,
    restMs: HEARTBEAT_MS,
    firstRestMs: HEARTBEAT_MS,
    onError,
    async round() {
      for (const live of all()) live.heartbeat();
    },
  });

  return {
    join,
    leave,
    /** Why one more connection is too many; undefined for none. */
    isFull: (room: LiveRoom, userId: string): string | undefined => crowd.isFull(room.connections.size, userId),
    enter(live: LiveRoom, connection: Connection): void {
      crowd.add(connection.principal.userId);
      live.enter(connection);
    },
    /** After `enter`, in the place of `leave`. */
    exit(live: LiveRoom, connection: Connection): Promise<void> {
      const { principal, room } = connection;
      crowd.remove(principal.userId);
      live.leave(connection);
      return leave(principal.orgId, room);
    },
    /** Saves every document, then closes the connections over `overMs`. */
    async drain(overMs: number, mostMs: number): Promise<void> {
      await Promise.all([looking[Symbol.asyncDispose](), beating[Symbol.asyncDispose]()]);
      const rooms = all();
      const saved = Promise.all(rooms.map((live) => live.flush().catch(() => undefined)));
      await Promise.race([saved, clock.sleep(mostMs)]);
      await closeOver(clock, connections(), overMs);
      await Promise.race([Promise.all(rooms.map((live) => live.end().catch(() => undefined))), clock.sleep(mostMs)]);
      for (const live of rooms) live.stop();
      await Promise.all(rooms.map(async (live) => replicas?.leave(live.document.key)));
    },
  };
}
