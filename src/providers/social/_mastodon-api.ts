import { z } from 'zod';
import { refused } from '../kit/declare/fallback.ts';
import { text } from '../kit/declare/fields.ts';
import type { Http } from '../kit/wire/http.ts';
import type { Multipart } from '../kit/protocols/multipart.ts';
import { sameText } from '../kit/protocols/text.ts';
import { type Limits, type Media, type Published, social, type SocialAdapter, type SocialLine } from './_contract.ts';

/** Differences of servers with Mastodon's API. Absent: as Mastodon. */
interface Quirks {
  /** A repeat with the same idempotency key may post again. */
  noIdempotencyKey?: boolean;
  noPkce?: boolean;
  /** Tokens cannot be revoked by clients. */
  noRevocation?: boolean;
  /** Pictures go to `/v1/media` and are ready at once. */
  mediaV1?: boolean;
}

interface Brand {
  id: string;
  title: string;
  description: string;
  website: string;
  instance?: string;
  /** The fields of an own app; without one an app is registered at each server. */
  app?: NonNullable<SocialAdapter['app']>;
  scopes: readonly string[];
  visibilities: readonly [string, ...string[]];
  limits: Limits;
  /** The failure of status 403. */
  forbidden: 'reauthorize' | 'rejected';
  quirks?: Quirks;
}

const AppReply = z.object({ client_id: z.string(), client_secret: z.string() });
const Account = z.object({
  id: z.string(),
  username: z.string(),
  acct: z.string().nullish(),
  display_name: z.string().nullish(),
  avatar: z.string().nullish(),
});
const Status = z.object({ id: z.string(), url: z.string().nullish(), uri: z.string().nullish() });
const Statuses = z.array(
  Status.extend({
    content: z.string(),
    created_at: z.coerce.date(),
    in_reply_to_id: z.coerce.string().nullish(),
    media_attachments: z.array(z.object({ id: z.coerce.string() })).nullish(),
  }),
);
type Shown = z.output<typeof Statuses>[number];
/** Ids of the media that attempts at this post uploaded: a status that shows one of them is this post. */
const Saved = z.object({ mediaIds: z.array(z.string()) });
/** A limit of a server; an implausible one is ignored, since anybody may run the server. */
const limit = (least: number, most: number) => z.int().min(least).max(most).nullish().catch(undefined);
/** An uploaded file; `url` is null while the server processes it. */
const Attachment = z.object({ id: z.coerce.string(), url: z.string().nullish() });
const Instance = z.object({
  configuration: z
    .object({
      statuses: z
        .object({
          max_characters: limit(1, 1_000_000),
          max_media_attachments: limit(1, 100),
          characters_reserved_per_url: limit(1, 1_000),
        })
        .nullish(),
      media_attachments: z
        .object({
          image_size_limit: limit(65_536, 2 ** 40),
          image_matrix_limit: limit(65_536, 2 ** 40),
          video_size_limit: limit(65_536, 2 ** 40),
          supported_mime_types: z.array(z.string().max(100)).max(100).nullish().catch(undefined),
        })
        .nullish(),
    })
    .nullish(),
});

/** Own statuses that are read to find a post: 400, newest first. */
const PAGE = 40;
const PAGES = 10;
const POLLS = 30;
/** Waits between two polls of media that the server processes: rising, up to 2 s. */
const pollMs = (poll: number) => Math.min(200 * (poll + 1), 2_000);
type Line = Pick<SocialLine, 'http' | 'clock'>;

/** Declares a network with Mastodon's client API. */
export const mastodonApi = ({ quirks = {}, instance, scopes, visibilities, forbidden, limits, ...brand }: Brand) =>
  social({
    ...brand,
    limits,
    version: 'v1',
    status: 'active',
    authType: 'oauth2',
    threads: 'reply',
    once: quirks.noIdempotencyKey ? 'read-back' : 'key',
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
    settings: z.object({
      visibility: z.enum(visibilities).optional(),
      spoiler_text: z.string().max(500).optional(),
      sensitive: z.boolean().optional(),
      language: z
        .string()
        .regex(/^[a-z]{2,3}$/)
        .optional(),
    }),
    login: {
      kind: 'oauth2',
      authorize: '{instance}/oauth/authorize',
      token: '{instance}/oauth/token',
      scopes,
      pkce: !quirks.noPkce,
      // docs.joinmastodon.org/methods/oauth: ends this token alone
      ...(!quirks.noRevocation && { revoke: { at: '{instance}/oauth/revoke' } }),
      async registerApp({ http, redirectUri, appName }) {
        const app = await http.post('/v1/apps', AppReply, {
          form: { client_name: appName, redirect_uris: redirectUri, scopes: scopes.join(' ') },
        });
        return { clientId: app.client_id, clientSecret: app.client_secret };
      },
    },

    async profile({ http, values }) {
      const me = await http.get('/v1/accounts/verify_credentials', Account);
      const { host } = new URL(values.instance);
      return {
        id: `${me.id}@${host}`,
        name: me.display_name || me.username,
        handle: `@${me.username}@${host}`,
        server: values.instance,
        ...(me.avatar && { picture: me.avatar }),
      };
    },

    async channelLimits({ http }) {
      const { configuration } = await instanceOf(http);
      const { statuses, media_attachments: media } = configuration ?? {};
      return {
        ...limits,
        ...(statuses?.max_characters && { text: statuses.max_characters }),
        ...(statuses?.characters_reserved_per_url && { linkLength: statuses.characters_reserved_per_url }),
        ...(statuses?.max_media_attachments && { media: statuses.max_media_attachments }),
        ...(media?.image_size_limit && { image: { ...limits.image, bytes: media.image_size_limit } }),
        ...(media?.video_size_limit && { video: { ...limits.video, bytes: media.video_size_limit } }),
        ...(media?.supported_mime_types?.length && { mediaTypes: media.supported_mime_types }),
      };
    },

    async publish({ http, clock, post, settings, thread, saved, save }) {
      const mediaIds = await upload({ http, clock }, post.media, quirks.mediaV1 ? '/v1/media' : '/v2/media');
      if (mediaIds.length > 0) await save({ mediaIds: [...uploadedBefore(saved), ...mediaIds] });
      const status = await http.post('/v1/statuses', Status, {
        json: {
          status: post.text,
          media_ids: mediaIds,
          in_reply_to_id: thread.at(-1)?.id,
          ...settings,
        },
        ...(!quirks.noIdempotencyKey && { idempotencyKey: post.id }),
        creates: true,
      });
      return releaseOf(status);
    },

    /**
     * Looks through the own statuses since then. One with media that an attempt uploaded is this post; others are
     * similar when text, parent and number of media are equal.
     */
    async find({ http, account, post, since, saved, thread }) {
      const own = new Set(uploadedBefore(saved));
      const parent = thread.at(-1)?.id;
      const similar: Shown[] = [];
      for await (const status of statusesSince(http, account, since)) {
        const media = status.media_attachments ?? [];
        if (media.some(({ id }) => own.has(id))) return releaseOf(status);
        const sameParent = (status.in_reply_to_id ?? undefined) === parent;
        if (sameParent && media.length === post.media.length && sameText(status.content, post.text))
          similar.push(status);
      }
      return similar.map(releaseOf);
    },

    async remove({ http, published }) {
      await http.delete(`/v1/statuses/${encodeURIComponent(published.id)}`);
    },
  });

const releaseOf = ({ id, url, uri }: z.output<typeof Status>): Published => ({ id, url: url ?? uri ?? '' });
const uploadedBefore = (saved: unknown): readonly string[] => Saved.safeParse(saved).data?.mediaIds ?? [];

/** Yields the own statuses since `since`, newest first. Throws when there are too many later ones to reach it. */
async function* statusesSince(http: Http, account: string, since: Date): AsyncGenerator<Shown> {
  const [id = ''] = account.split('@');
  const seen = new Set<string>();
  let last: string | undefined;
  for (let page = 0; page < PAGES; page += 1) {
    const statuses = await http.get(`/v1/accounts/${encodeURIComponent(id)}/statuses`, Statuses, {
      answerBytes: 4 * 1024 * 1024, // some servers accept statuses of a hundred kilobytes
      query: { limit: String(PAGE), exclude_reblogs: 'true', ...(last !== undefined && { max_id: last }) },
    });
    const fresh = statuses.filter((status) => !seen.has(status.id));
    if (fresh.length === 0 && statuses.length < PAGE) return; // snac ignores `max_id`: its second page equals the first
    for (const status of fresh) {
      if (status.created_at < since) return;
      seen.add(status.id);
      yield status;
    }
    last = statuses.at(-1)?.id;
  }
  throw refused('unavailable', `The account posted more than ${PAGE * PAGES} statuses since then`);
}

async function instanceOf(http: Http): Promise<z.output<typeof Instance>> {
  return (
    (await http.find('/v2/instance', Instance)) ??
    (await http.find('/v1/instance', Instance)) ?? { configuration: null }
  );
}

/** Uploads the media, converted where the server would refuse their size, and waits until each is ready. */
async function upload(line: Line, media: readonly Media[], path: string): Promise<string[]> {
  if (media.length === 0) return [];
  const { configuration } = await instanceOf(line.http);
  const limits = configuration?.media_attachments;
  const ids: string[] = [];
  for (const item of media) {
    const fitted = await item.fit({
      maxBytes: limits?.image_size_limit ?? undefined,
      maxPixels: limits?.image_matrix_limit ?? undefined,
      types: limits?.supported_mime_types ?? [item.contentType],
    });
    const most = item.contentType.startsWith('video/') ? limits?.video_size_limit : limits?.image_size_limit;
    if (!fitted && item.size > (most ?? Infinity))
      throw refused('rejected', `The server takes at most ${most} bytes: ${item.name} has ${item.size}`);
    ids.push(await uploaded(line, path, { file: fitted ?? item, description: item.alt || undefined }));
  }
  return ids;
}

async function uploaded({ http, clock }: Line, path: string, multipart: Multipart): Promise<string> {
  let attachment = await http.post(path, Attachment, { multipart });
  const { id } = attachment;
  for (let poll = 0; !attachment.url; poll += 1) {
    if (poll === POLLS) throw refused('unavailable', 'The server is still working on the media');
    await clock.sleep(pollMs(poll));
    attachment = await http.get(`/v1/media/${encodeURIComponent(id)}`, Attachment);
  }
  return id;
}
