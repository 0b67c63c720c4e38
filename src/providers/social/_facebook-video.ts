import { z } from 'zod';
import type { Clock } from '../kit/declare/adapter.ts';
import { refused } from '../kit/declare/fallback.ts';
import type { Http } from '../kit/wire/http.ts';
import { bodyOfRange } from '../kit/protocols/upload/steps.ts';
import type { Handle, Media, Polled, Prepared, Processing, Published } from './_contract.ts';
import { graphFailure, UPLOADS, VIDEOS } from './_meta-graph.ts';

// Videos, reels and video stories of a page: begun, uploaded, and public by a call of their own.

/** `chunk`: the bytes of a video that Facebook wants next. Reels and stories are sent as a whole. */
export const Saved = z
  .object({
    photos: z.array(z.string()).default([]),
    chunk: z.object({ session: z.string(), from: z.number(), to: z.number() }).optional(),
    video: z.string().optional(),
    uploaded: z.boolean().optional(),
    post: z.string().optional(),
  })
  .catch({ photos: [] });
type State = z.output<typeof Saved>;

export type Edge = 'videos' | 'video_reels' | 'video_stories';
interface VideoCall extends Pick<Handle, 'save'> {
  http: Http;
  clock: Clock;
  account: string;
}
const POLL_MS = 15_000;
const Started = z.object({ video_id: z.string() });
const Offsets = z
  .object({ start_offset: z.coerce.number(), end_offset: z.coerce.number() })
  .transform(({ start_offset: from, end_offset: to }) => ({ from, to }));
const Session = z.object({ upload_session_id: z.string(), video_id: z.string() });
/** After a lost answer Facebook has more bytes than we know, and tells which it wants. */
const Expected = z
  .object({ error: z.object({ error_subcode: z.literal(1_363_037), error_data: Offsets }) })
  .transform(({ error }) => error.error_data);
const Refused = z
  .looseObject({ error: z.looseObject({ message: z.string() }) })
  .transform((body) => ({ failure: graphFailure.safeParse(body).data ?? 'rejected', words: body.error.message }));

const Phase = z.object({
  status: z.string().nullish(),
  bytes_transferred: z.number().nullish(),
  bytes_transfered: z.number().nullish(), // so spelt by the guides to reels and stories of pages
  errors: z.array(z.object({ message: z.string() })).nullish(),
  error: z.object({ message: z.string() }).nullish(),
});
const VideoState = z.object({
  status: z.object({
    video_status: z.string().nullish(),
    uploading_phase: Phase.nullish(),
    processing_phase: Phase.nullish(),
    publishing_phase: Phase.nullish(),
  }),
  post_id: z.string().nullish(),
  permalink_url: z.string().nullish(),
});

/** One step of an upload: a chunk of a video, the whole of a reel or story. */
export const prepareVideo = (call: VideoCall, state: State, edge: Edge, file: Media): Promise<Prepared> =>
  edge === 'videos' ? prepareChunk(call, state, file) : prepareReel(call, state, edge, file);

async function prepareReel(
  { http, account, save }: VideoCall,
  state: State,
  edge: Edge,
  file: Media,
): Promise<Prepared> {
  if (state.uploaded) return 'ready';
  const path = `/${account}/${edge}`;
  const video = state.video ?? (await http.post(path, Started, { json: { upload_phase: 'start' } })).video_id;
  await save({ video });
  const from = state.video === undefined ? 0 : await bytesAt(http, video, file);
  const { size } = file;
  if (from < size)
    await http.post(`${UPLOADS}/${video}`, z.object({ success: z.literal(true) }), {
      bytes: bodyOfRange(file, { from, to: size }),
      headers: { offset: String(from), file_size: String(size) },
    });
  await save({ video, uploaded: true });
  return 'ready';
}
/** The bytes that Facebook has of an upload that was broken off. */
async function bytesAt(http: Http, video: string, { size }: Media): Promise<number> {
  const { status } = await http.get(`/${video}`, VideoState, { query: { fields: 'status' } });
  const { uploading_phase: phase } = status;
  return phase?.status === 'complete' ? size : (phase?.bytes_transferred ?? phase?.bytes_transfered ?? 0);
}

async function prepareChunk({ http, account, save }: VideoCall, state: State, file: Media): Promise<Prepared> {
  if (state.uploaded) return 'ready';
  const path = `${VIDEOS}/${account}/videos`;
  if (!state.chunk) {
    const begun = await http.post(path, Session.and(Offsets), {
      json: { upload_phase: 'start', file_size: file.size },
    });
    const { upload_session_id: session, video_id: video, from, to } = begun;
    await save({ video, chunk: { session, from, to } });
    return { againMs: 0 };
  }
  const { session, ...range } = state.chunk;
  const next = await http.post(path, z.union([Offsets, Expected, Refused]), {
    multipart: {
      upload_phase: 'transfer',
      upload_session_id: session,
      start_offset: String(range.from),
      video_file_chunk: { ...bodyOfRange(file, range), name: file.name },
    },
    accepts: [400],
    replyStatus: true,
  });
  if ('failure' in next) throw refused(next.failure, `Facebook did not take the video: ${next.words}`);
  const uploaded = next.from >= file.size;
  await save({ video: state.video, chunk: { session, ...next }, uploaded });
  return uploaded ? 'ready' : { againMs: 0 };
}

const Finished = z.object({ success: z.literal(true), post_id: z.coerce.string().optional() });
/** Makes an uploaded video public. */
export async function finishVideo(
  { http, account, save }: VideoCall,
  state: State,
  edge: Edge,
  description: string,
): Promise<Processing> {
  const { video, chunk } = state;
  const text = description && { description };
  const { post_id: post } =
    edge === 'videos'
      ? await http.post(`${VIDEOS}/${account}/videos`, Finished, {
          json: { upload_phase: 'finish', upload_session_id: chunk?.session, ...text },
          creates: true,
        })
      : await http.post(`/${account}/${edge}`, Finished, {
          json: { upload_phase: 'finish', video_id: video, video_state: 'PUBLISHED', ...text },
          creates: true,
        });
  if (post !== undefined) await save({ ...state, post });
  return { processingMs: POLL_MS };
}

interface Told extends Pick<VideoCall, 'http' | 'account'> {
  state: State;
  edge: Edge;
}
async function readState({ http, account, state, edge }: Told) {
  const { video, post } = state;
  const query = { fields: 'status,post_id,permalink_url' };
  const { status, permalink_url: link, post_id } = await http.get(`/${video!}`, VideoState, { query });
  const { video_status: all, publishing_phase: publishing } = status;
  const phases = [status.uploading_phase, status.processing_phase, publishing];
  const faults = phases.flatMap((phase) => [...(phase?.errors ?? []), ...(phase?.error ? [phase.error] : [])]);
  const id = post ?? post_id ?? video!;
  return {
    isOut: publishing ? publishing.status === 'complete' : all === 'ready',
    isWorking: all === 'processing' || publishing?.status === 'in_progress',
    isExpired: all === 'expired',
    fault: all === 'error' ? faults.map(({ message }) => message).join(' ') || 'without a reason' : undefined,
    published: {
      id: edge === 'video_stories' || id === video || id.includes('_') ? id : `${account}_${id}`,
      url: new URL(link ?? `/${id}`, 'https://www.facebook.com').href,
    },
  };
}
export async function pollVideo(told: Told): Promise<Polled> {
  const { isOut, isExpired, fault, published } = await readState(told);
  if (fault !== undefined) return { rejected: `Facebook could not publish the video: ${fault}` };
  if (isExpired) return { expired: true };
  return isOut ? published : { processingMs: POLL_MS };
}
/** A video that is ready and not out was never asked to be. */
export async function findVideo(told: Told): Promise<Published | undefined> {
  if (!told.state.uploaded) return undefined;
  const { isOut, isWorking, published } = await readState(told);
  if (isWorking) throw refused('unavailable', 'Facebook works on the video');
  return isOut ? published : undefined;
}
