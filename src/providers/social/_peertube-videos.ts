import { z } from 'zod';
import type { LookUp, Operations, Published } from './_contract.ts';
import type { Http } from '../kit/wire/http.ts';
import { sinceThen } from './_lists.ts';
import { channelOf } from './_peertube-channel.ts';
import type { credentials } from './_peertube-login.ts';
import { publishedAt, type Settings, Video, videoUpload } from './_peertube-upload.ts';
import { askVideo, prepareSession, publishSession, setBeside } from './_video-session.ts';

const POLL_MS = 15_000;
const NEWEST = 25;
/** States in which a video stays: its transcoding, or its move to another storage, failed. */
const FAILED = [7, 8];

/** Old servers take no other pictures, and none that are larger. */
const THUMBNAIL = { maxBytes: 2 * 1024 * 1024, types: ['image/jpeg'] };

const State = z.object({ state: z.object({ id: z.number(), label: z.string().nullish() }) });

/** As of `VideoState`; `video`: what it became. */
const Saved = z
  .object({ upload: z.unknown(), finishing: z.boolean().optional(), video: Video.optional() })
  .catch({ upload: undefined });

const Own = z.object({
  data: z.array(Video.extend({ name: z.string(), createdAt: z.coerce.date(), channel: z.object({ id: z.int() }) })),
});
/** Lists the newest own videos with this title in this channel of the account. */
async function ownVideos({
  http,
  values,
  settings: { title, channel = channelOf(values) },
  since,
}: { http: Http; values: { service: string }; settings: Settings } & Pick<LookUp, 'since'>): Promise<Published[]> {
  const query = { sort: '-createdAt', count: String(NEWEST) };
  const { data } = await http.get('/users/me/videos', Own, { query });
  return sinceThen(data, NEWEST, ({ createdAt }) => createdAt >= since)
    .filter(({ name, channel: { id } }) => name === title && id === channel)
    .map((video) => publishedAt(values.service, video));
}

/** Uploads, and what the server makes of them. */
export const peertubeVideos = {
  prepare: ({ saved, save, ...call }) =>
    prepareSession(call, videoUpload(call), Saved.parse(saved), (upload) => save({ upload })),
  async publish({ saved, save, ...call }) {
    const state = Saved.parse(saved);
    if (state.video) return { processingMs: POLL_MS };
    const video = await publishSession(call, videoUpload(call), state, save);
    await save({ ...state, finishing: true, video });
    await setBeside(async () => {
      const thumbnail = await call.post.media[0]!.thumbnail?.fit(THUMBNAIL);
      const multipart = { thumbnailfile: thumbnail, previewfile: thumbnail };
      if (thumbnail) await call.http.put(`/videos/${video.uuid}`, z.unknown(), { multipart });
    });
    return { processingMs: POLL_MS };
  },
  async poll({ http, values, saved }) {
    const video = Saved.parse(saved).video!; // `publish`
    const found = await http.find(`/videos/${video.uuid}`, State);
    if (!found) return { rejected: 'The video is gone' };
    const { id, label } = found.state;
    if (FAILED.includes(id)) return { rejected: `PeerTube says ${label ?? `state ${id}`}` };
    return id === 1 ? publishedAt(values.service, video) : { processingMs: POLL_MS };
  },
  async find({ saved, since, ...call }) {
    const { values } = call;
    const state = Saved.parse(saved);
    if (state.video) return publishedAt(values.service, state.video);
    if (!state.finishing) return undefined;
    const progress = await askVideo(call, videoUpload(call), state);
    if (progress) return 'result' in progress ? publishedAt(values.service, progress.result) : undefined;
    return ownVideos({ ...call, since });
  },
  remove: ({ http, published: { id } }) => http.delete(`/videos/${encodeURIComponent(id)}`),
} satisfies Operations<typeof Settings, typeof credentials>;
