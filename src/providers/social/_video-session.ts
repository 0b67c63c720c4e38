import { ProviderError } from '../../platform/kernel/index.ts';
import { TIMEOUT_MS } from '../kit/declare/adapter.ts';
import { refused } from '../kit/declare/fallback.ts';
import type { RangedFile } from '../kit/declare/media.ts';
import { askSession, finishSession, type SessionProtocol, uploadSession } from '../kit/protocols/upload/session.ts';
import type { Connection, Prepared } from './_contract.ts';

// Videos that are public when their last range has arrived: `publish` sends it, `prepare` all before it.

const RANGES_A_STEP = 2;

/** `upload`: the handle of the session. `finishing`: the last range may have been sent, and so the video be public. */
export interface VideoState {
  upload?: unknown;
  finishing?: boolean | undefined;
}
/** The upload of a video. `lastFrom`: where its last range begins. */
export interface VideoSession<R> {
  file: RangedFile;
  protocol: SessionProtocol<R>;
  lastFrom: number;
}
type Line = Pick<Connection, 'http' | 'clock'>;
const lineOf = ({ http, clock }: Line) => ({ http, clock, timeoutMs: TIMEOUT_MS });

/** One step of what comes before the last range. */
export async function prepareSession<R>(
  line: Line,
  { file, protocol, lastFrom }: VideoSession<R>,
  { upload, finishing }: VideoState,
  save: (upload: unknown) => Promise<void>,
): Promise<Prepared> {
  if (finishing) return 'ready';
  const kept = { saved: upload, save, holdLast: true, ranges: RANGES_A_STEP };
  const { received } = await uploadSession(lineOf(line), protocol, file, kept);
  return received >= lastFrom ? 'ready' : { againMs: 0 };
}

/** Sends the last range, and answers the result where the protocol has one. A session that is gone is forgotten. */
export async function publishSession<R>(
  line: Line,
  { file, protocol }: VideoSession<R>,
  state: VideoState,
  save: (state: VideoState) => Promise<void>,
): Promise<R> {
  await save({ ...state, finishing: true });
  const done = await finishSession(lineOf(line), protocol, file, state.upload);
  if (done && (done.result || !protocol.hasResult)) return done.result as R; // never where there is none
  await save({});
  throw refused('unavailable', 'The network dropped the upload');
}

/** How far the server is with the video; undefined where it no longer knows the session. */
export const askVideo = <R>(line: Line, { file, protocol }: VideoSession<R>, { upload }: VideoState) =>
  askSession(lineOf(line), protocol, file, upload);

/** Sets what belongs to a video that is there: it stays, whatever becomes of that, or of the file that it needs. */
export async function setBeside(set: () => Promise<unknown>): Promise<void> {
  try {
    await set();
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error;
  }
}
