import { z } from 'zod';
import { refused } from '../kit/declare/fallback.ts';
import type { Operations } from './_contract.ts';
import { checkAccount, photosOf, type Settings, videoUpload } from './_tiktok-post.ts';
import { polledAs, similar, statusOf } from './_tiktok-status.ts';
import { prepareSession, publishSession } from './_video-session.ts';

const POLL_MS = 10_000;
const Begun = z.object({ data: z.object({ publish_id: z.string() }) });
/** `publish`: the id by which TikTok is asked. `finishing`: the last range may have been sent, and the video be posted. */
const Saved = z
  .object({ publish: z.string().optional(), upload: z.unknown().optional(), finishing: z.boolean().optional() })
  .catch({});

/** Videos, and pictures that TikTok fetches. */
export const tiktokPosts = {
  async prepare({ saved, save, ...call }) {
    const state = Saved.parse(saved);
    if (state.finishing) return 'ready';
    if (state.publish === undefined) await checkAccount(call.http, call.post, call.settings);
    if (call.post.media[0]!.kind === 'image') return 'ready';
    const publish = { id: state.publish };
    return prepareSession(call, videoUpload(call, publish), state, (upload) => save({ publish: publish.id, upload }));
  },
  async publish({ saved, save, ...call }) {
    const state = Saved.parse(saved);
    if (call.post.media[0]!.kind === 'image') {
      const json = await photosOf(call.post, call.settings);
      const { data } = await call.http.post('/post/publish/content/init/', Begun, { json, creates: true });
      await save({ publish: data.publish_id, finishing: true });
    } else await publishSession(call, videoUpload(call, { id: state.publish }), state, save);
    return { processingMs: POLL_MS };
  },
  async poll({ http, saved }) {
    const id = Saved.parse(saved).publish ?? '';
    return polledAs(http, id, await statusOf(http, id));
  },
  async find({ http, post, saved, since }) {
    const { publish, finishing } = Saved.parse(saved);
    if (publish === undefined) return similar(http, post.plain, since);
    if (!finishing) return undefined;
    const told = await statusOf(http, publish);
    if (told.status === 'PROCESSING_UPLOAD') return undefined; // its last part did not arrive
    const state = await polledAs(http, publish, told);
    if ('id' in state) return state;
    if ('processingMs' in state) throw refused('unavailable', 'TikTok still works on the post');
    return undefined;
  },
} satisfies Operations<typeof Settings>;
