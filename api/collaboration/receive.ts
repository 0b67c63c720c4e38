import { UpdateRefused } from '../../src/studio/collaboration/updates.ts';
import { authorOf } from '../http/own.ts';
import { type Awareness, MOST_STATE_BYTES } from './awareness.ts';
import type { Connection } from './connection.ts';
import type { OpenDocument } from './document.ts';
import * as frames from './frames.ts';
import { coAuthorOf } from './rights.ts';
import { encode } from './wire.ts';

/** The part of a room that frames of its clients reach. */
export interface Receiving {
  readonly document: OpenDocument;
  readonly awareness: Awareness;
  /** The document takes changes at the moment. */
  isWritable(): boolean;
  /** The document was changed by a client. */
  touch(): void;
  /** Tells clients, here and elsewhere, what one says of itself. */
  tellAwareness(person: string, entries: readonly frames.AwarenessEntry[]): void;
}

const refuse = (connection: Connection, reason: string) => connection.send(encode(frames.deniedFrame(reason)));

function takeUpdate({ document, isWritable, touch }: Receiving, connection: Connection, update: Uint8Array): void {
  if (connection.rights !== 'write' || !isWritable()) {
    if (connection.isTold || !document.isNew(update)) return;
    connection.isTold = true;
    return refuse(connection, 'permission denied');
  }
  const { principal } = connection;
  try {
    if (document.type(update, authorOf(principal), coAuthorOf(principal))) touch();
  } catch (error) {
    if (!(error instanceof UpdateRefused)) throw error;
    refuse(connection, error.message);
  }
}

function takeAwareness({ awareness, tellAwareness }: Receiving, connection: Connection, update: Uint8Array): void {
  const { userId } = connection.principal;
  const { told, over, isTooLarge } = awareness.receive(connection, userId, update);
  if (over.length > 0) connection.send(encode(frames.awarenessFrame(frames.awarenessUpdate(over))));
  if (isTooLarge) refuse(connection, `an awareness state has at most ${MOST_STATE_BYTES} bytes`);
  tellAwareness(userId, told);
}

/**
 * Does what a frame of a client asks for.
 * @throws Error for what y-websocket does not send; nothing was changed
 */
export function receiveFrame(room: Receiving, connection: Connection, bytes: Uint8Array): void {
  const reader = new frames.FrameReader(bytes);
  const type = reader.number();
  const step = type === frames.SYNC ? reader.number() : undefined;
  const payload = type === frames.QUERY_AWARENESS ? undefined : reader.bytes();
  if (!reader.isDone) throw new frames.Malformed('goes on behind its end');
  if (payload === undefined) {
    const states = room.awareness.all();
    if (states) connection.send(encode(frames.awarenessFrame(states)));
  } else if (type === frames.AWARENESS) takeAwareness(room, connection, payload);
  else if (step === frames.STEP1) connection.sendDocument(encode(frames.step2Frame(room.document.missing(payload))));
  else if (step === frames.STEP2 || step === frames.UPDATE) takeUpdate(room, connection, payload);
  else throw new frames.Malformed('no frame of y-websocket');
}
