import { z } from 'zod';
import { TIMEOUT_MS } from '../kit/declare/adapter.ts';
import { refused, whenFailed } from '../kit/declare/fallback.ts';
import type { Values } from '../kit/declare/fields.ts';
import { askSession, finishSession, uploadSession } from '../kit/protocols/upload/session.ts';
import { social } from './_contract.ts';
import { credentials, refresh, signIn } from './_peertube-login.ts';
import {
  Comment,
  commentAt,
  countsOf,
  idHere,
  me,
  ownComments,
  ownVideos,
  pictureAt,
  readComments,
} from './_peertube-reading.ts';
import { publishedAt, RANGE_BYTES, Saved, Settings, videoUpload } from './_peertube-upload.ts';
import { commentAtLikes, commentFrom } from './_plugs.ts';

const RANGES_A_STEP = 2;
const POLL_MS = 15_000;
/** States in which a video stays: its transcoding, or its move to another storage, failed. */
const FAILED = [7, 8];

const State = z.object({ state: z.object({ id: z.number(), label: z.string().nullish() }) });

/** The number of the chosen channel. */
const channelOf = (values: Values): number => {
  const channel = values['channel'];
  if (channel === undefined) throw refused('rejected', 'No channel was chosen');
  return Number(channel);
};

/** https://docs.joinpeertube.org/api-rest-reference.html */
export default social({
  id: 'peertube',
  version: 'v1',
  status: 'active',
  title: 'PeerTube',
  description: 'Videos on a channel of a federated PeerTube server.',
  website: 'https://joinpeertube.org',
  authType: 'password',
  setupNotes:
    'The password of the account is kept, encrypted. Accounts with a second factor cannot be connected. The server limits the size of files and the space of each account.',
  credentials,
  api: '{service}/api/v1',
  auth: { in: 'token' },
  errors: { 409: 'unavailable' }, // a range that is not the next one: the upload asks where it goes on
  errorOf: z.object({ code: z.enum(['invalid_grant', 'invalid_token']) }).transform(() => 'reauthorize' as const),
  login: {
    kind: 'credentials',
    signIn,
    refresh,
  },
  once: 'two-phase',
  threads: 'comment',
  editor: 'markdown',
  limits: { text: 10_000, unit: 'characters', media: 1, needsMedia: true, mediaTypes: ['video/*'] },
  settings: Settings,
  plugs: [commentAtLikes('peertube'), commentFrom('peertube', ['peertube'])],

  async profile({ http, values }) {
    const { service } = values;
    const { host } = new URL(service);
    const { account, videoChannels } = await me(http);
    const chosen = (values as Values)['channel'];
    const of = chosen === undefined ? account : videoChannels.find(({ id }) => String(id) === chosen);
    if (!of) throw refused('rejected', 'The channel is gone');
    const picture = pictureAt(service, of.avatars);
    return {
      id: `${of.id}@${host}`,
      name: of.displayName || of.name,
      handle: `@${of.name}@${host}`,
      server: service,
      ...(picture && { picture }),
    };
  },
  async pages({ http, values: { service } }) {
    const { host } = new URL(service);
    const { videoChannels } = await me(http);
    return videoChannels.map(({ id, name, displayName, avatars }) => ({
      id: `${id}@${host}`,
      name: displayName || name,
      handle: `@${name}@${host}`,
      picture: pictureAt(service, avatars),
    }));
  },
  choose: async ({ page, tokens }) => ({
    ...tokens,
    values: { ...tokens.values, channel: page.split('@')[0]! },
  }),

  async prepare({ save, saved, ...call }) {
    const { file, protocol } = videoUpload({ ...call, chosen: channelOf(call.values) });
    const state = Saved.parse(saved);
    if (state.video || state.finishing) return 'ready';
    const { received } = await uploadSession({ ...call, timeoutMs: TIMEOUT_MS }, protocol, file, {
      saved: state.upload,
      save: (upload) => save({ upload }),
      holdLast: true,
      ranges: RANGES_A_STEP,
    });
    return file.size - received <= RANGE_BYTES ? 'ready' : { againMs: 0 };
  },
  async publish({ save, saved, ...call }) {
    const { file, protocol } = videoUpload({ ...call, chosen: channelOf(call.values) });
    const state = Saved.parse(saved);
    if (state.video) return { processingMs: POLL_MS };
    await save({ ...state, finishing: true });
    const done = await finishSession({ ...call, timeoutMs: TIMEOUT_MS }, protocol, file, state.upload);
    if (!done?.result) {
      await save({});
      throw refused('unavailable', 'PeerTube dropped the upload');
    }
    const video = done.result;
    await save({ ...state, finishing: true, video });
    const { thumbnail } = call.post.media[0]!;
    const set = () =>
      call.http.put(`/videos/${video.uuid}`, z.unknown(), {
        multipart: { thumbnailfile: thumbnail, previewfile: thumbnail },
      });
    // the video is there, whatever becomes of its thumbnail
    if (thumbnail)
      await whenFailed(
        'unavailable',
        () => whenFailed('rejected', set, async () => null),
        async () => null,
      );
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
    const { values, settings } = call;
    const state = Saved.parse(saved);
    if (state.video) return publishedAt(values.service, state.video);
    if (!state.finishing) return undefined;
    const { file, protocol } = videoUpload({ ...call, chosen: channelOf(values) });
    const progress = await askSession({ ...call, timeoutMs: TIMEOUT_MS }, protocol, file, state.upload);
    if (progress) return 'result' in progress ? publishedAt(values.service, progress.result) : undefined;
    return ownVideos({ ...call, title: settings.title, since });
  },
  remove: ({ http, published: { id } }) => http.delete(`/videos/${encodeURIComponent(id)}`),

  comment: {
    once: 'read-back',
    replies: true,
    async send({ published, parent, post, ...line }) {
      const video = await idHere(line, published);
      const path = parent ? `/videos/${video}/comments/${parent.id}` : `/videos/${video}/comment-threads`;
      const Made = z.object({ comment: Comment.pick({ id: true, url: true, threadId: true }) });
      const { comment } = await line.http.post(path, Made, { json: { text: post.text }, creates: true });
      return commentAt(comment);
    },
    find: (call) => ownComments(call),
  },
  comments: (call) => readComments(call),
  metrics: (call) => countsOf(call),
  async channelMetrics({ http, values, clock }) {
    const { videoChannels } = await me(http);
    const value = videoChannels.find(({ id }) => id === channelOf(values))?.followersCount;
    const date = clock.now().toISOString().slice(0, 10);
    return value == null ? [] : [{ metric: 'followers', points: [{ date, value }] }];
  },
});
