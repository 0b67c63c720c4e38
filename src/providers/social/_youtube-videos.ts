import { z } from 'zod';
import type { Connection, LookUp, Operations, Published } from './_contract.ts';
import { sinceThen } from './_lists.ts';
import { askVideo, prepareSession, publishSession, setBeside } from './_video-session.ts';
import { list } from './_youtube-reading.ts';
import { published, type Settings, videoUpload, written } from './_youtube-upload.ts';

const POLL_MS = 15_000;
const THUMBNAIL = { maxBytes: 2_000_000, types: ['image/jpeg', 'image/png'] };

/** As of `VideoState`; `id`: that of the video. */
const Saved = z
  .object({ upload: z.unknown().optional(), finishing: z.boolean().optional(), id: z.string().optional() })
  .catch({ upload: undefined });
const State = z.object({
  status: z.object({
    uploadStatus: z.string(),
    failureReason: z.string().nullish(),
    rejectionReason: z.string().nullish(),
  }),
});
const Uploads = z.object({ contentDetails: z.object({ relatedPlaylists: z.object({ uploads: z.string() }) }) });
const Uploaded = z.object({
  snippet: z.object({
    title: z.string(),
    publishedAt: z.coerce.date(),
    resourceId: z.object({ videoId: z.string() }),
  }),
});

/** Uploads, and what YouTube makes of them. */
export const youtubeVideos = {
  prepare: ({ saved, save, ...call }) =>
    prepareSession(call, videoUpload(call), Saved.parse(saved), (upload) => save({ upload })),
  async publish({ saved, save, ...call }) {
    const state = Saved.parse(saved);
    if (state.id !== undefined) return { processingMs: POLL_MS };
    const { id } = await publishSession(call, videoUpload(call), state, save);
    await save({ ...state, finishing: true, id });
    const { files, media } = call.post;
    const thumbnail = files?.['thumbnail'] ?? media[0]?.thumbnail;
    const query = { videoId: id, uploadType: 'media' };
    await setBeside(async () => {
      const bytes = await thumbnail?.fit(THUMBNAIL);
      if (bytes) await call.http.post('/upload/youtube/v3/thumbnails/set', z.unknown(), { query, bytes });
    });
    return { processingMs: POLL_MS };
  },
  async poll({ http, saved }) {
    const id = Saved.parse(saved).id!;
    const { items } = await http.get('/youtube/v3/videos', list(State), { query: { part: 'status', id } });
    const status = items[0]?.status;
    if (!status) return { rejected: 'The video is gone' };
    const { uploadStatus, failureReason, rejectionReason } = status;
    if (uploadStatus === 'failed' || uploadStatus === 'rejected' || uploadStatus === 'deleted')
      return {
        rejected: `YouTube says ${uploadStatus}: ${failureReason ?? rejectionReason ?? 'without a reason'}`,
        ...(rejectionReason === 'duplicate' && { reason: rejectionReason }),
      };
    return uploadStatus === 'processed' ? published(id) : { processingMs: POLL_MS };
  },
  async find({ saved, ...call }) {
    const state = Saved.parse(saved);
    if (state.id !== undefined) return published(state.id);
    if (!state.finishing) return undefined;
    const progress = await askVideo(call, videoUpload(call), state);
    if (progress) return 'result' in progress ? published(progress.result.id) : undefined;
    return newestUploads(call, written(call.settings.title));
  },
  remove: ({ http, published: { id } }) => http.delete('/youtube/v3/videos', { query: { id } }),
} satisfies Operations<typeof Settings>;

const NEWEST = 50;
/** The videos of the channel with this title that were uploaded since then. */
async function newestUploads(
  { http, account, since }: Pick<Connection, 'http' | 'account'> & Pick<LookUp, 'since'>,
  title: string,
): Promise<Published[]> {
  const channels = await http.get('/youtube/v3/channels', list(Uploads), {
    query: { part: 'contentDetails', id: account },
  });
  const playlistId = channels.items[0]?.contentDetails.relatedPlaylists.uploads;
  const newest = await http.get('/youtube/v3/playlistItems', list(Uploaded), {
    query: { part: 'snippet', playlistId, maxResults: String(NEWEST) },
  });
  return sinceThen(newest.items, NEWEST, ({ snippet }) => snippet.publishedAt >= since)
    .filter(({ snippet }) => snippet.title === title)
    .map(({ snippet }) => published(snippet.resourceId.videoId));
}
