import { z } from 'zod';
import { refused } from '../../declare/fallback.ts';
import type { LentMemory, RangedFile } from '../../declare/media.ts';
import {
  type Ask,
  askUpload,
  bodyOfRange,
  countFaults,
  type Kept,
  refuseBegin,
  type Range,
  type UploadLine,
} from './steps.ts';

/** The bytes that the server has, or its result: it has all. */
export type Progress<R> = { received: number } | { result: R };

/** An upload to a session that the server keeps: it can be asked how far it is, and goes on there. */
export interface SessionProtocol<R> {
  /** Begins a session at the server; answers its address or its id. */
  begin(): Promise<string>;
  /** Bytes of one range. Absent: all that is left in one. */
  rangeBytes?: number;
  /** The last range takes what is left over, instead of a shorter one after it. */
  longLast?: true;
  send(session: string, range: Range): Ask;
  /** Reads the answer to a range, with `status` beside the body. */
  sent(range: Range): z.ZodType<Progress<R>>;
  /** Asks how far the server is. */
  ask(session: string, size: number): Ask;
  asked: z.ZodType<Progress<R>>;
  /** The server answers a result after the last byte; without it the upload is not complete. */
  hasResult: boolean;
}

/** An upload is complete when `received` is the size of the file. */
export interface Uploaded<R> {
  received: number;
  result?: R;
}

const Handle = z.object({ session: z.string().optional(), received: z.int().min(0), begun: z.int().min(0) });

/** The range after these bytes. Ranges end at multiples of their length, also after a part of one was received. */
function rangeAfter<R>({ rangeBytes, longLast }: SessionProtocol<R>, from: number, size: number): Range {
  if (rangeBytes === undefined) return { from, to: size, size };
  const to = (Math.floor(from / rangeBytes) + 1) * rangeBytes;
  return { from, to: to >= size || (longLast && size - to < rangeBytes) ? size : to, size };
}

/**
 * Uploads a file to a session. A byte is read again only when the server did not confirm it. After a fault, and with a
 * state that an earlier process saved, the server is asked how far it is; a session that it forgot is begun anew.
 * `holdLast`: answers before the last range, with which some networks publish. `ranges`: greatest number of ranges of
 * this call. Throws `ProviderError`.
 */
export async function uploadSession<R>(
  line: UploadLine,
  protocol: SessionProtocol<R>,
  file: RangedFile,
  { saved, save, holdLast = false, ranges = Infinity }: Kept & { holdLast?: boolean; ranges?: number },
): Promise<Uploaded<R>> {
  const { size } = file;
  let handle = Handle.safeParse(saved).data ?? { received: 0, begun: 0 };
  let mustAsk = handle.session !== undefined;
  let left = ranges;
  const faults = countFaults(line.clock);
  const memory: LentMemory = [];

  /** Asks, or sends the next range; undefined where the session is gone. */
  async function step(session: string, range: Range): Promise<Progress<R> | undefined> {
    if (mustAsk) return askUpload(line, protocol.ask(session, size), protocol.asked);
    left -= 1;
    const call = { ...protocol.send(session, range), bytes: bodyOfRange(file, range, memory) };
    return askUpload(line, call, protocol.sent(range));
  }
  async function begin(): Promise<string> {
    const session = await protocol.begin();
    handle = { session, received: 0, begun: handle.begun + 1 };
    await save(handle);
    mustAsk = false;
    return session;
  }

  for (;;) {
    if (handle.session === undefined) refuseBegin(handle.begun);
    try {
      const session = handle.session ?? (await begin());
      const range = rangeAfter(protocol, handle.received, size);
      if (!mustAsk && ((holdLast && range.to === size) || left <= 0)) return { received: handle.received };
      const progress = await step(session, range);
      if (!progress) {
        handle = { received: 0, begun: handle.begun };
        continue;
      }
      if ('result' in progress) return { received: size, result: progress.result };
      const { received } = progress;
      if (received > size) throw refused('rejected', 'The server has more bytes than the file');
      if (received > handle.received) faults.progress();
      const stands = !mustAsk && received <= handle.received;
      handle = { ...handle, received };
      await save(handle);
      mustAsk = false;
      if (received === size && !protocol.hasResult) return { received };
      if (stands || received === size) throw refused('unavailable', 'The server did not take the bytes');
    } catch (error) {
      await faults.wait(error);
      mustAsk = handle.session !== undefined;
    }
  }
}

/**
 * Asks how far a session is that an earlier call began. Undefined where the server no longer knows it, or none was
 * begun.
 */
export async function askSession<R>(
  line: UploadLine,
  protocol: SessionProtocol<R>,
  { size }: Pick<RangedFile, 'size'>,
  saved: unknown,
): Promise<Progress<R> | undefined> {
  const session = Handle.safeParse(saved).data?.session;
  return session === undefined ? undefined : askUpload(line, protocol.ask(session, size), protocol.asked);
}

/**
 * Sends what is left after `holdLast`, in one call that publishes: without an answer it is `lost`, and only
 * `askSession` can tell. Undefined where the server no longer knows the session, and so has published nothing.
 */
export async function finishSession<R>(
  line: UploadLine,
  protocol: SessionProtocol<R>,
  file: RangedFile,
  saved: unknown,
): Promise<Uploaded<R> | undefined> {
  const progress = await askSession(line, protocol, file, saved);
  const session = Handle.safeParse(saved).data?.session;
  if (!progress || session === undefined) return undefined;
  if ('result' in progress) return { received: file.size, result: progress.result };
  if (progress.received === file.size && !protocol.hasResult) return progress;
  const range = { from: progress.received, to: file.size, size: file.size };
  const call = { ...protocol.send(session, range), bytes: bodyOfRange(file, range), creates: true } as const;
  const sent = await askUpload(line, call, protocol.sent(range));
  if (!sent) return undefined;
  if ('result' in sent) return { received: file.size, result: sent.result };
  if (sent.received < file.size) throw refused('unavailable', 'The server did not take the bytes');
  return { received: sent.received };
}
