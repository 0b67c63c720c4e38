import { z } from 'zod';
import { refused, unlessMade } from '../kit/declare/fallback.ts';
import type { Connection, Operations, Published } from './_contract.ts';
import { checkAccount, isPublic, photosOf, type Settings, videoUpload } from './_tiktok-post.ts';
import { polledAs, similar, statusOf } from './_tiktok-status.ts';
import { prepareSession, publishSession } from './_video-session.ts';

const POLL_MS = 10_000;
/** How long after it was sent a public post may appear in the list of the account, and have an id and address. */
const LISTED_WITHIN_MS = 15 * 60_000;
const Begun = z.object({ data: z.object({ publish_id: z.string() }) });
/**
 * `publish`: the id by which TikTok is asked. `sentAt`: when the last range of a video, or the request of photos, was
 * sent. `finishing`: the last range may have been sent, and the video be posted.
 */
const Saved = z
  .object({
    publish: z.string().optional(),
    upload: z.unknown().optional(),
    finishing: z.boolean().optional(),
    sentAt: z.coerce.date().optional(),
  })
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
    const { http, clock, post, settings } = call;
    const sentAt = clock.now().toISOString();
    if (post.media[0]!.kind === 'image') {
      const json = await photosOf(post, settings);
      await save({ sentAt });
      const send = () => http.post('/post/publish/content/init/', Begun, { json, creates: true });
      const { data } = await unlessMade(send, () => save({}));
      await save({ publish: data.publish_id, finishing: true, sentAt });
    } else {
      const state = { ...Saved.parse(saved), sentAt };
      await publishSession(call, videoUpload(call, { id: state.publish }), state, save);
    }
    return { processingMs: POLL_MS };
  },
  async poll({ saved, ...call }) {
    const state = Saved.parse(saved);
    const id = state.publish ?? '';
    return polledAs(call.http, { id, isAwaited: isAwaited(call, state) }, await statusOf(call.http, id));
  },
  async find({ saved, ...call }) {
    const state = Saved.parse(saved);
    const { publish: id, finishing, sentAt } = state;
    if (id === undefined) return sentAt && findPhotos({ ...call, sentAt });
    if (!finishing) return undefined;
    const told = await statusOf(call.http, id);
    if (told.status === 'PROCESSING_UPLOAD') return undefined; // its last part did not arrive
    const found = await polledAs(call.http, { id, isAwaited: isAwaited(call, state) }, told);
    if ('id' in found) return found;
    if ('processingMs' in found) throw refused('unavailable', 'TikTok still works on the post');
    return undefined;
  },
} satisfies Operations<typeof Settings>;

type Call = Pick<Connection, 'clock'> & { settings: z.output<typeof Settings> };
const isAwaited = ({ clock, settings }: Call, { sentAt }: Pick<z.output<typeof Saved>, 'sentAt'>): boolean =>
  sentAt !== undefined && isPublic(settings) && clock.now().getTime() - sentAt.getTime() < LISTED_WITHIN_MS;

type Finding = Call & Pick<Connection, 'http'> & { post: { plain: string }; since: Date; sentAt: Date };
/** The request of photos posts them. Where its answer was lost nobody knows their id, and lists have public posts only. */
async function findPhotos({ http, post, since, ...call }: Finding): Promise<Published[]> {
  if (!isPublic(call.settings))
    throw refused('unavailable', 'TikTok does not list drafts, and posts that not everybody sees');
  const found = await similar(http, post.plain, since);
  if (found.length === 0 && isAwaited(call, call)) throw refused('unavailable', 'TikTok may list the post yet');
  return found;
}
