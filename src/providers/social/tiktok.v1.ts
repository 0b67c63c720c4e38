import { z } from 'zod';
import { TIMEOUT_MS } from '../kit/declare/adapter.ts';
import { refused } from '../kit/declare/fallback.ts';
import { clientApp } from '../kit/protocols/oauth.ts';
import { finishSession, uploadSession } from '../kit/protocols/upload/session.ts';
import { social } from './_contract.ts';
import { checkAccount, creatorOf, lastRange, LIMITS, photosOf, Settings, videoUpload } from './_tiktok-post.ts';
import {
  countsOfAccount,
  countsOfVideos,
  Failure,
  FailureInside,
  polledAs,
  similar,
  statusOf,
} from './_tiktok-reading.ts';

const RANGES_A_STEP = 2;
const POLL_MS = 10_000;

const User = z.object({
  data: z.object({
    user: z.object({
      open_id: z.string(),
      display_name: z.string(),
      username: z.string().nullish(),
      avatar_url: z.url().nullish().catch(undefined),
    }),
  }),
});
const Begun = z.object({ data: z.object({ publish_id: z.string() }) });
/** `publish`: the id by which TikTok is asked. `finishing`: the last range may have been sent, and the video be posted. */
const Saved = z
  .object({ publish: z.string().optional(), upload: z.unknown().optional(), finishing: z.boolean().optional() })
  .catch({});

/** https://developers.tiktok.com/doc/content-posting-api-get-started */
export default social({
  id: 'tiktok',
  version: 'v1',
  status: 'active',
  title: 'TikTok',
  description: 'Videos and photo posts on a TikTok account, or as drafts in its inbox.',
  website: 'https://www.tiktok.com',
  authType: 'oauth2',
  setupNotes:
    'Until TikTok has audited the app, it posts for at most 5 people a day, to private accounts, visible to themselves alone. Photos are fetched from this server: its address must be verified in the portal of TikTok.',
  credentials: {},
  app: clientApp,
  api: 'https://open.tiktokapis.com/v2',
  auth: { in: 'token' },
  errorOf: Failure,
  errorInside: FailureInside,
  login: {
    kind: 'oauth2',
    authorize: 'https://www.tiktok.com/v2/auth/authorize/',
    token: 'https://open.tiktokapis.com/v2/oauth/token/',
    scopes: ['user.info.basic', 'user.info.profile', 'user.info.stats', 'video.list', 'video.publish', 'video.upload'],
    scopeSeparator: ',',
    clientIdName: 'client_key',
    revoke: { at: 'https://open.tiktokapis.com/v2/oauth/revoke/' },
  },
  once: 'two-phase',
  threads: 'none',
  processesWithinMs: 6 * 3_600_000,
  pace: [{ per: 'account', posts: 6, ms: 60_000 }],
  limits: LIMITS,
  settings: Settings,

  async profile({ http }) {
    const query = { fields: 'open_id,avatar_url,display_name,username' };
    const { data } = await http.get('/user/info/', User, { query });
    const { open_id: id, display_name: name, username, avatar_url: picture } = data.user;
    return { id, name, handle: username ? `@${username}` : '', ...(picture && { picture }) };
  },
  async channelLimits({ http }) {
    const { video } = (await creatorOf(http)).limits;
    return { video };
  },

  async prepare({ saved, save, ...call }) {
    const state = Saved.parse(saved);
    if (state.finishing) return 'ready';
    if (state.publish === undefined) await checkAccount(call.http, call.post, call.settings);
    if (call.post.media[0]!.kind === 'image') return 'ready';
    const publish = { id: state.publish };
    const { file, protocol } = videoUpload(call, publish);
    const { received } = await uploadSession({ ...call, timeoutMs: TIMEOUT_MS }, protocol, file, {
      saved: state.upload,
      save: (upload) => save({ publish: publish.id, upload }),
      holdLast: true,
      ranges: RANGES_A_STEP,
    });
    return received >= lastRange(file) ? 'ready' : { againMs: 0 };
  },
  async publish({ saved, save, ...call }) {
    const state = Saved.parse(saved);
    if (call.post.media[0]!.kind === 'image') {
      const json = await photosOf(call.post, call.settings);
      const { data } = await call.http.post('/post/publish/content/init/', Begun, { json, creates: true });
      await save({ publish: data.publish_id, finishing: true });
      return { processingMs: POLL_MS };
    }
    const { file, protocol } = videoUpload(call, { id: state.publish });
    await save({ ...state, finishing: true });
    const done = await finishSession({ ...call, timeoutMs: TIMEOUT_MS }, protocol, file, state.upload);
    if (!done) {
      await save({});
      throw refused('unavailable', 'TikTok dropped the upload');
    }
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

  metrics: ({ http, posts }) => countsOfVideos(http, posts),
  metricsAtOnce: 20,
  channelMetrics: ({ http, clock }) => countsOfAccount(http, clock),
});
