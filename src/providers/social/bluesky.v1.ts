import { z } from 'zod';
import { refused, whenFailed } from '../kit/declare/fallback.ts';
import { secret, text } from '../kit/declare/fields.ts';
import type { Http } from '../kit/wire/http.ts';
import { jwtExpiry } from '../kit/protocols/jwt.ts';
import { newTid } from '../kit/protocols/tid.ts';
import { homeOf } from './_bluesky-identity.ts';
import { facetsOf } from './_bluesky-text.ts';
import { type Media, type Published, social, type Tokens } from './_contract.ts';

const COLLECTION = 'app.bsky.feed.post';
/** Servers from before 2026 refuse larger pictures. */
const IMAGE_BYTES = 1_000_000;
const IMAGE_TYPES = ['image/jpeg', 'image/png', 'image/webp', 'image/gif'];

const DidDoc = z.object({ service: z.array(z.object({ id: z.string(), serviceEndpoint: z.url() })) });
const Session = z.object({
  accessJwt: z.string(),
  refreshJwt: z.string(),
  did: z.string(),
  handle: z.string(),
  didDoc: DidDoc.nullish().catch(undefined),
});
const Me = z.object({ did: z.string(), handle: z.string() });
const ProfileRecord = z.object({
  value: z.object({
    displayName: z.string().nullish(),
    avatar: z.object({ ref: z.object({ $link: z.string() }) }).nullish(),
  }),
});
const Blob = z.object({ blob: z.unknown() });
const Written = z.object({ uri: z.string(), cid: z.string() });
const NotThere = z.object({ error: z.enum(['RecordNotFound', 'RepoNotFound']) });
const NoSuchHandle = z.object({ error: z.enum(['InvalidRequest', 'HandleNotFound']) });

/** Saved before the post is sent: with the same key and time the same bytes are the same post. */
const Key = z.object({ rkey: z.string(), createdAt: z.string() });

const WORDS = {
  ExpiredToken: 'reauthorize',
  InvalidToken: 'reauthorize',
  AuthMissing: 'reauthorize',
  AuthenticationRequired: 'reauthorize',
  AuthFactorTokenRequired: 'rejected', // the account's main password instead of an app password
  AccountTakedown: 'rejected',
  AccountDeactivated: 'rejected',
  RepoTakendown: 'rejected',
  RateLimitExceeded: 'rate_limited',
} as const;

const GATES: Readonly<Record<string, readonly string[]>> = {
  nobody: [],
  mentioned: ['mentionRule'],
  followers: ['followerRule'],
  following: ['followingRule'],
};

function tokensOf(session: z.output<typeof Session>, typed: string): Tokens {
  const home = session.didDoc?.service.find(({ id }) => id.endsWith('#atproto_pds'))?.serviceEndpoint ?? typed;
  const expiresAt = jwtExpiry(session.accessJwt);
  return {
    accessToken: session.accessJwt,
    refreshToken: session.refreshJwt,
    values: { service: home },
    ...(expiresAt && { expiresAt }),
  };
}

const signIn = async (http: Http, values: { service: string; identifier: string; password: string }): Promise<Tokens> =>
  tokensOf(
    await http.post(`${values.service}/xrpc/com.atproto.server.createSession`, Session, {
      json: { identifier: values.identifier.replace(/^@/, ''), password: values.password },
    }),
    values.service,
  );

export default social({
  id: 'bluesky',
  version: 'v1',
  status: 'active',
  title: 'Bluesky',
  description: 'Short posts on the AT Protocol; each account lives on a personal data server.',
  website: 'https://bsky.app',
  authType: 'app_password',
  setupNotes:
    'Make an app password under Settings > Privacy and security > App passwords. Never use the password of the account itself.',
  credentials: {
    service: text('Server', {
      form: 'origin',
      default: 'https://bsky.social',
      help: 'The personal data server of the account',
    }),
    identifier: text('Handle or email', { validation: '.{3,300}', help: 'For example alice.bsky.social' }),
    password: secret('App password'),
  },
  api: '{service}/xrpc',
  hosts: { plc: 'https://plc.directory' },
  auth: { in: 'token' },
  errorOf: z
    .object({ error: z.enum(Object.keys(WORDS) as (keyof typeof WORDS)[]) })
    .transform(({ error }) => WORDS[error]),
  once: 'own-id',
  threads: 'reply',
  limits: { text: 300, unit: 'graphemes', textBytes: 3_000, media: 4, mediaTypes: IMAGE_TYPES },
  settings: z.object({
    replyGate: z.enum(['everyone', 'nobody', 'mentioned', 'followers', 'following']).optional(),
    languages: z
      .array(z.string().regex(/^[a-zA-Z]{2,3}(-[a-zA-Z0-9]{2,8})*$/))
      .max(3)
      .optional(),
    selfLabels: z.array(z.enum(['sexual', 'nudity', 'porn', 'graphic-media'])).optional(),
  }),
  login: {
    kind: 'credentials',
    signIn: ({ http, values }) => signIn(http, values),
    /** Both tokens are replaced; when the refresh token is refused, the app password is used. */
    refresh: ({ http, values, tokens }) =>
      whenFailed(
        'reauthorize',
        async () =>
          tokensOf(
            await http.post('/com.atproto.server.refreshSession', Session, {
              headers: { authorization: `Bearer ${tokens.refreshToken}` },
            }),
            tokens.values?.['service'] ?? values.service,
          ),
        () => signIn(http, values),
      ),
  },

  async profile({ http, values, hosts }) {
    const { did, handle } = await http.get('/com.atproto.server.getSession', Me);
    const home = await homeOf(http, hosts['plc']!, did); // a server could claim any account
    if (home !== new URL(values.service).origin)
      throw refused('rejected', `service: ${values.service} does not hold the account ${did}, which lives at ${home}`);
    const record = await http.find('/com.atproto.repo.getRecord', ProfileRecord, {
      query: { repo: did, collection: 'app.bsky.actor.profile', rkey: 'self' },
      absent: NotThere,
    });
    const picture = record?.value.avatar?.ref.$link;
    return {
      id: did,
      name: record?.value.displayName || handle,
      handle: `@${handle}`,
      server: values.service,
      ...(picture && {
        picture: `${values.service}/xrpc/com.atproto.sync.getBlob?did=${encodeURIComponent(did)}&cid=${picture}`,
      }),
    };
  },

  async publish({ http, clock, account, post, settings, saved, save, thread }) {
    const earlier = Key.safeParse(saved).data;
    const { rkey, createdAt } = earlier ?? { rkey: newTid(clock.now(), post.id), createdAt: clock.now().toISOString() };
    const resolve = async (handle: string) =>
      (
        await http.find('/com.atproto.identity.resolveHandle', z.object({ did: z.string() }), {
          query: { handle },
          absent: NoSuchHandle,
        })
      )?.did;
    const facets = await facetsOf(post.text, resolve);
    const images = await upload(http, post.media);
    const reply = replyTo(thread);
    const record = {
      $type: COLLECTION,
      text: post.text,
      createdAt,
      ...(facets.length > 0 && { facets }),
      ...(settings.languages?.length && { langs: settings.languages }),
      ...(settings.selfLabels?.length && {
        labels: { $type: 'com.atproto.label.defs#selfLabels', values: settings.selfLabels.map((val) => ({ val })) },
      }),
      ...(images.length > 0 && { embed: { $type: 'app.bsky.embed.images', images } }),
      ...(reply && { reply }),
    };
    if (!earlier) await save({ rkey, createdAt });
    const rules = GATES[settings.replyGate ?? 'everyone'];
    if (rules && !reply) {
      // before the post, so that nobody can reply in between
      const gate = {
        $type: 'app.bsky.feed.threadgate',
        post: `at://${account}/${COLLECTION}/${rkey}`,
        createdAt,
        allow: rules.map((rule) => ({ $type: `app.bsky.feed.threadgate#${rule}` })),
      };
      await http.post('/com.atproto.repo.putRecord', Written, {
        json: { repo: account, collection: 'app.bsky.feed.threadgate', rkey, record: gate },
      });
    }
    // a second record with the same key is refused: `putRecord` writes the same record again
    const { uri, cid } = await http.post(
      earlier ? '/com.atproto.repo.putRecord' : '/com.atproto.repo.createRecord',
      Written,
      {
        json: { repo: account, collection: COLLECTION, rkey, record },
        creates: true,
      },
    );
    return publishedAs(account, uri, cid);
  },

  async find({ http, account, saved }) {
    const key = Key.safeParse(saved).data;
    if (!key) return undefined;
    const record = await http.find('/com.atproto.repo.getRecord', Written, {
      query: { repo: account, collection: COLLECTION, rkey: key.rkey },
      absent: NotThere,
    });
    return record && publishedAs(account, record.uri, record.cid);
  },

  async remove({ http, account, published }) {
    await http.post('/com.atproto.repo.deleteRecord', z.unknown(), {
      json: { repo: account, collection: COLLECTION, rkey: published.id.split('/').at(-1) },
    });
  },
});

const publishedAs = (account: string, uri: string, cid: string): Published => ({
  id: uri,
  url: `https://bsky.app/profile/${account}/post/${uri.split('/').at(-1)}`,
  saved: { uri, cid },
});

const Reference = z.object({ uri: z.string(), cid: z.string() });
function replyTo(thread: readonly Published[]) {
  const root = thread[0];
  const parent = thread.at(-1);
  return root && parent ? { root: Reference.parse(root.saved), parent: Reference.parse(parent.saved) } : undefined;
}

async function upload(http: Http, media: readonly Media[]) {
  const images: Record<string, unknown>[] = [];
  for (const item of media) {
    const picture = await item.fit({ maxBytes: IMAGE_BYTES, types: IMAGE_TYPES });
    if (!picture) throw refused('rejected', `Bluesky takes pictures only, or none so large: ${item.name}`);
    const { blob } = await http.post('/com.atproto.repo.uploadBlob', Blob, { bytes: picture });
    images.push({ alt: item.alt, image: blob, aspectRatio: { width: picture.width, height: picture.height } });
  }
  return images;
}
