import { z } from 'zod';
import { text } from '../kit/declare/fields.ts';
import { refused } from '../kit/declare/fallback.ts';
import type { Http } from '../kit/wire/http.ts';
import { type Handle, type Post, type Published, social } from './_contract.ts';
import { type Brand, type Quirks, settingsOf } from './_mastodon-brand.ts';
import {
  Account,
  accountAt,
  countsOf,
  findAccounts,
  findAmong,
  findBelow,
  idHere,
  readComments,
  releaseOf,
  Status,
  statusAt,
  statusesSince,
  uploadedBefore,
  visibilityBelow,
} from './_mastodon-statuses.ts';
import { mastodonLogin } from './_mastodon-login.ts';
import { profileOfAnybody } from './_mastodon-profile.ts';
import { limitsAt, prepareMedia } from './_mastodon-upload.ts';
import { plugsOf } from './_plugs.ts';
import { seriesOfNow } from './_series.ts';

const Totals = z.object({ id: z.string(), followers_count: z.int().nullish(), statuses_count: z.int().nullish() });
const Shared = Status.extend({ reblogged: z.boolean().nullish() });
/** Networks whose posts a channel can repeat and answer: its server fetches those of others. */
const FEDERATED = ['mastodon', 'pixelfed'];

type Writing = Pick<Handle, 'saved'> & { http: Http; post: Post };

/** Declares a network with Mastodon's client API (https://docs.joinmastodon.org/methods/). */
export const mastodonApi = (declared: Brand) => {
  const { quirks = {}, instance, scopes, visibilities: _, refuses: __, forbidden, limits, ...brand } = declared;
  /** The server knows a post by its key for an hour, and repeats a status for an account once. */
  const once = quirks.noIdempotencyKey ? ('read-back' as const) : ('key' as const);
  const files = {
    path: quirks.mediaV1 ? '/v1/media' : '/v2/media',
    alt: quirks.alt ?? 1_500,
    thumbnail: !quirks.mediaV1,
  };

  return social({
    ...brand,
    limits,
    version: 'v1',
    status: 'active',
    authType: 'oauth2',
    threads: 'reply',
    ...(quirks.stripsTags && { spacesTags: true }),
    once,
    ...(!quirks.noIdempotencyKey && { settlesWithinMs: 10_000 }), // the server knows the key only after the first request has ended
    credentials: {
      instance: text('Server URL', {
        form: 'origin',
        help: 'The address of your server, for example https://social.example',
        ...(instance && { default: instance }),
      }),
    },
    api: '{instance}/api',
    auth: { in: 'token' },
    errors: { 403: forbidden },
    errorOf: z.object({ error: z.string().regex(/not finished processing/i) }).transform(() => 'unavailable' as const),
    settings: settingsOf(declared),
    login: mastodonLogin(scopes, quirks),

    async profile({ http, values }) {
      const me = await http.get('/v1/accounts/verify_credentials', Account);
      const { host } = new URL(values.instance);
      return {
        id: `${me.id}@${host}`,
        name: me.display_name || me.username,
        handle: `@${me.username}@${host}`,
        server: values.instance,
        picture: me.avatar,
      };
    },

    channelLimits: ({ http }) => limitsAt(http, limits),
    prepare: (call) => prepareMedia(call, call, files),
    async publish({ settings: { visibility, spoiler_text, sensitive, language }, thread, ...call }) {
      return written(quirks, call, {
        in_reply_to_id: thread.at(-1)?.id,
        visibility,
        spoiler_text,
        sensitive: sensitive || Boolean(spoiler_text) || undefined, // not every server hides what has a warning
        ...(!quirks.noLanguage && { language }),
      });
    },
    async find({ http, account, post, since, saved, thread }) {
      const parent = thread.at(-1)?.id;
      if (parent !== undefined && quirks.answersShown !== undefined)
        return findBelow({ http, account, since }, parent, { post, saved, parent }, quirks.answersShown);
      return findAmong(statusesSince(http, account, since), { post, saved, parent });
    },
    async remove({ http, published: { id } }) {
      await http.delete(statusAt(id));
    },

    comment: {
      once,
      replies: true,
      async send({ published, parent, saved, save, ...call }) {
        const answered = parent?.id ?? (await idHere(call, published));
        const attempt = { ...call, saved, save: async (state: unknown) => save((attempt.saved = state)) };
        const ready = await prepareMedia(call, attempt, files);
        if (ready !== 'ready') throw refused('unavailable', 'The server still works on the files', ready.againMs);
        const visibility = await visibilityBelow(call.http, answered);
        return written(quirks, attempt, { in_reply_to_id: answered, visibility });
      },
      async find({ published, parent, post, saved, ...call }) {
        const root = await idHere(call, published);
        const answered = parent?.id ?? root;
        const at = quirks.answersShown === undefined ? root : answered;
        return findBelow(call, at, { post, saved, parent: answered }, quirks.answersShown);
      },
    },
    ...(quirks.answersShown !== undefined && { commentReads: { lists: 'some' } as const }),
    comments: async ({ http, values, published }) => ({
      comments: await readComments(http, published.id, new URL(values.instance).host),
    }),
    repost: {
      once,
      // of a private one its author alone: https://docs.joinmastodon.org/methods/statuses/#boost
      unless: [{ visibility: 'private' }, { visibility: 'direct' }],
      async send({ repost: { published }, ...call }) {
        const id = await idHere(call, published);
        await call.http.post(`${statusAt(id)}/reblog`, Status, { creates: true });
        return { id, url: published.url };
      },
      async find({ repost: { published }, ...call }) {
        const id = await idHere(call, published);
        const status = await call.http.find(statusAt(id), Shared);
        return status?.reblogged ? { id, url: published.url } : undefined;
      },
    },

    metrics: ({ http, posts }) => countsOf(http, posts),
    async channelMetrics({ http, clock, account }) {
      const { followers_count: followers, statuses_count: posts } = await http.get(accountAt(account), Totals);
      return seriesOfNow(clock, { followers, posts });
    },
    publicProfile: profileOfAnybody(`@name@${new URL(instance ?? brand.website).host}`),
    mentions: ({ query, ...call }) => findAccounts(call, query),
    mention: ({ id }) => (/^[\w.-]+@[\w.-]+(?::\d+)?$/.test(id) ? `@${id}` : undefined),
    plugs: plugsOf(brand.id, ['auto-repost', 'auto-comment', 'repost-from', 'comment-from'], FEDERATED),
  });
};

/** Writes the status, with the files that were uploaded for it. */
async function written(
  quirks: Quirks,
  { http, post, saved }: Writing,
  fields: Readonly<Record<string, unknown>>,
): Promise<Published> {
  const mediaIds = uploadedBefore(saved);
  const made = await http.post('/v1/statuses', Status, {
    json: { status: post.text, ...(mediaIds.length > 0 && { media_ids: mediaIds }), ...fields },
    ...(!quirks.noIdempotencyKey && { idempotencyKey: post.id }),
    creates: true,
  });
  return releaseOf(made);
}
