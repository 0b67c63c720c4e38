import { z } from 'zod';
import { refused, whenFailed } from '../kit/declare/fallback.ts';
import { TIMEOUT_MS } from '../kit/declare/adapter.ts';
import { askSession, finishSession, uploadSession } from '../kit/protocols/upload/session.ts';
import { social } from './_contract.ts';
import { googleApp, googleFailure, googleLogin } from './_google.ts';
import { commentAtLikes, commentFrom } from './_plugs.ts';
import { ownChannels, pageOf, profileOf } from './_youtube-channel.ts';
import {
  commentAt,
  countsOfVideos,
  list,
  newestUploads,
  ownComments,
  readComments,
  reportByDay,
} from './_youtube-reading.ts';
import { published, RANGE_BYTES, Saved, Settings, Video, videoUpload, written } from './_youtube-upload.ts';

const RANGES_A_STEP = 2;
const POLL_MS = 15_000;

const State = z.object({
  status: z.object({
    uploadStatus: z.string(),
    failureReason: z.string().nullish(),
    rejectionReason: z.string().nullish(),
  }),
});
/** https://developers.google.com/youtube/v3/docs and the guide to resumable uploads beside it */
export default social({
  id: 'youtube',
  version: 'v1',
  status: 'active',
  title: 'YouTube',
  description: 'Videos and Shorts on a YouTube channel.',
  website: 'https://www.youtube.com',
  authType: 'oauth2',
  setupNotes:
    'Until Google has audited the project of the app, YouTube keeps every uploaded video private. A project may upload 100 videos a day. A thumbnail needs an account with a verified phone number; without it YouTube chooses one.',
  credentials: {},
  app: googleApp,
  api: 'https://www.googleapis.com',
  hosts: { analytics: 'https://youtubeanalytics.googleapis.com' },
  auth: [{ in: 'token' }, { in: 'header', host: 'analytics', name: 'authorization', prefix: 'Bearer ', token: true }],
  errorOf: googleFailure,
  login: googleLogin([
    'https://www.googleapis.com/auth/youtube.upload',
    'https://www.googleapis.com/auth/youtube.force-ssl',
    'https://www.googleapis.com/auth/youtube.readonly',
    'https://www.googleapis.com/auth/yt-analytics.readonly',
    'https://www.googleapis.com/auth/userinfo.profile',
    'https://www.googleapis.com/auth/userinfo.email',
  ]),
  once: 'two-phase',
  threads: 'comment',
  processesWithinMs: 6 * 3_600_000,
  pace: [{ per: 'app', posts: 100, ms: 86_400_000 }],
  limits: {
    text: 5_000,
    unit: 'bytes',
    media: 1,
    needsMedia: true,
    mediaTypes: ['video/*'],
    video: { count: 1, bytes: 256_000_000_000, seconds: [0, 43_200] },
  },
  settings: Settings,
  fileSettings: ['thumbnail'],
  plugs: [commentAtLikes('youtube'), commentFrom('youtube', ['youtube'])],

  profile: ({ http, values }) => profileOf(http, pageOf(values)),
  pages: ({ http }) => ownChannels(http),
  choose: async ({ page, tokens }) => ({ ...tokens, values: { ...tokens.values, channel: page } }),

  async prepare({ save, saved, ...call }) {
    const { file, protocol } = videoUpload(call);
    const state = Saved.parse(saved);
    if (state.id !== undefined || state.finishing) return 'ready';
    const line = { ...call, timeoutMs: TIMEOUT_MS };
    const before = await uploadSession(line, protocol, file, {
      saved: state.upload,
      save: (handle) => save({ upload: handle }),
      holdLast: true,
      ranges: RANGES_A_STEP,
    });
    return file.size - before.received <= RANGE_BYTES ? 'ready' : { againMs: 0 };
  },
  async publish({ save, saved, ...call }) {
    const { file, protocol } = videoUpload(call);
    const state = Saved.parse(saved);
    if (state.id !== undefined) return { processingMs: POLL_MS };
    await save({ ...state, finishing: true });
    const done = await finishSession({ ...call, timeoutMs: TIMEOUT_MS }, protocol, file, state.upload);
    if (!done?.result) {
      await save({});
      throw refused('unavailable', 'YouTube dropped the upload');
    }
    const { id } = done.result;
    await save({ ...state, finishing: true, id });
    const bytes = await call.post.files?.['thumbnail']?.fit({
      maxBytes: 2_000_000,
      types: ['image/jpeg', 'image/png'],
    });
    const set = () =>
      call.http.post('/upload/youtube/v3/thumbnails/set', z.unknown(), {
        query: { videoId: id, uploadType: 'media' },
        bytes: bytes!,
      });
    // the video is there, whatever becomes of its thumbnail
    if (bytes)
      await whenFailed(
        'unavailable',
        () => whenFailed('rejected', set, async () => null),
        async () => null,
      );
    return { processingMs: POLL_MS };
  },
  async poll({ http, saved }) {
    const id = Saved.parse(saved).id!;
    const { items } = await http.get('/youtube/v3/videos', list(State), { query: { part: 'status', id } });
    const status = items[0]?.status;
    if (!status) return { rejected: 'The video is gone' };
    const { uploadStatus, failureReason, rejectionReason } = status;
    if (uploadStatus === 'failed' || uploadStatus === 'rejected' || uploadStatus === 'deleted')
      return { rejected: `YouTube says ${uploadStatus}: ${failureReason ?? rejectionReason ?? 'without a reason'}` };
    return uploadStatus === 'processed' ? published(id) : { processingMs: POLL_MS };
  },
  async find({ post, settings, saved, since, http, clock, account }) {
    const state = Saved.parse(saved);
    if (state.id !== undefined) return published(state.id);
    if (!state.finishing) return undefined;
    const { file, protocol } = videoUpload({ http, post, settings });
    const progress = await askSession({ http, clock, timeoutMs: TIMEOUT_MS }, protocol, file, state.upload);
    if (progress) return 'result' in progress ? published(progress.result.id) : undefined;
    return newestUploads({ http, account, title: written(settings.title), since });
  },
  remove: ({ http, published: { id } }) => http.delete('/youtube/v3/videos', { query: { id } }),

  comment: {
    once: 'read-back',
    replies: true,
    text: 10_000,
    async send({ http, published: { id: videoId }, parent, post }) {
      const text = { textOriginal: post.text };
      const { id } = parent
        ? await http.post('/youtube/v3/comments', Video, {
            query: { part: 'snippet' },
            json: { snippet: { parentId: parent.id, ...text } },
            creates: true,
          })
        : await http.post('/youtube/v3/commentThreads', Video, {
            query: { part: 'snippet' },
            json: { snippet: { videoId, topLevelComment: { snippet: text } } },
            creates: true,
          });
      return commentAt(videoId, id);
    },
    find: (call) => ownComments(call),
  },
  comments: (call) => readComments(call),
  async hide({ http, comment: { id }, hidden }) {
    const moderationStatus = hidden ? 'heldForReview' : 'published';
    await http.post('/youtube/v3/comments/setModerationStatus', z.unknown(), { query: { id, moderationStatus } });
  },

  metrics: (call) => countsOfVideos(call),
  metricsAtOnce: 50,
  channelMetrics: (call) => reportByDay(call),
});
