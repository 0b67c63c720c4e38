// oxlint-disable max-lines -- one suite: an operation and its checks for each method of the contract
import { expect } from '@jest/globals';
import { z } from 'zod';
import { systemClock } from '../../../../src/platform/kernel/index.ts';
import type { Outbound, OutboundRequest } from '../../../../src/platform/outbound/index.ts';
import type { Picture, PictureRules } from '../../../../src/providers/kit/declare/media.ts';
import type {
  App,
  Handle,
  Held,
  Media,
  Polled,
  Post,
  Published,
  Social,
  SocialAdapter,
  Tokens,
} from '../../../../src/providers/registry/index.ts';
import { checkReleaseId, isMetric } from '../../../../src/providers/registry/index.ts';
import { localProviders } from '../../worlds/providers.ts';
import { failureOf } from '../fake-network.ts';
import { limitChecks } from './limit-checks.ts';
import {
  type Case,
  type Check,
  type Exchange,
  type LocalProviders,
  type ProviderFixture,
  type Says,
  sharedWire,
  type Suite,
} from './provider.ts';
import { settingCheck } from './setting-bounds.ts';

export type { Asks, Case, Exchange, Refusal, Says } from './provider.ts';

/**
 * What a network answers, written from its documents. `values` are the typed credentials, `declares` is what
 * `declared` reads. Cases have the operations of `OPERATIONS`; the first one of `publish` publishes text.
 */
export interface SocialFixture extends ProviderFixture {
  /** `Profile.id` of the connected account. */
  account: string;
  tokens?: Tokens;
  app?: App;
}

/** The input of `publish` (all steps until the post is out), `poll` and `find`. */
export interface PostInput {
  id?: string;
  /** In the form of the editor; `plain` where it differs. */
  text: string;
  plain?: string;
  media?: readonly Media[];
  files?: Readonly<Record<string, Media>>;
  settings?: Readonly<Record<string, unknown>>;
  thread?: readonly Published[];
  saved?: unknown;
  since?: Date;
}

const REDIRECT = 'https://rookery.example/integrations/social/callback';
export const NOW = new Date('2026-11-23T10:00:00.000Z');

/** A file whose bytes are `text`, at an address where networks can fetch it. */
export const fileOf = (name: string, contentType: string, text: string, more: Partial<Media> = {}): Media => {
  const bytes = Buffer.from(text);
  const file: object = {
    name,
    contentType,
    size: bytes.length,
    alt: '',
    kind: contentType === 'application/pdf' ? 'document' : contentType.split('/')[0],
    publicUrl: `https://files.rookery.example/${name}`,
    width: 640,
    height: 480,
    async *open() {
      yield bytes;
    },
    async *read(from: number, to: number) {
      yield bytes.subarray(from, to);
    },
    fit: async (): Promise<Picture> => file as unknown as Picture,
    ...more,
  };
  return file as unknown as Media; // of which an adapter sees this much
};
export const picture = fileOf('red.png', 'image/png', 'bytes of a picture', { alt: 'A red rectangle' });
export const photo = fileOf('sea.jpg', 'image/jpeg', 'bytes of a photo', { alt: 'The sea' });
export const video = fileOf('clip.mp4', 'video/mp4', 'bytes of a video', { seconds: 12, alt: 'A clip' });
export const pdf = fileOf('slides.pdf', 'application/pdf', 'bytes of a document', { alt: 'Slides' });

/** Post id of every input that names none: 36 characters, as those of the product. */
export const POST_ID = '0193a1b2-c3d4-7e5f-8a6b-7c8d9e0f1a2b';
const postOf = ({ id = POST_ID, text, plain = text, media = [], files }: PostInput): Post => ({
  id,
  text,
  plain,
  media,
  ...(files && { files }),
});

interface Port {
  channel: Social;
  providers: LocalProviders;
  adapter: SocialAdapter;
  values: Readonly<Record<string, string>>;
  fixture: SocialFixture;
  /** Everything that was saved, in its order. */
  kept: unknown[];
}
const handleOf = ({ kept }: Port, { saved, thread = [] }: Partial<PostInput>): Handle => {
  const handle: Handle = {
    saved,
    thread,
    async save(data) {
      handle.saved = JSON.parse(JSON.stringify(data)); // as a column keeps it
      kept.push(handle.saved);
    },
  };
  return handle;
};
const lookUpOf = ({ saved, thread = [], since = new Date(NOW.getTime() - 60_000) }: Partial<PostInput>) => ({
  saved,
  thread,
  since,
});

/** Takes all steps, without waiting between them. */
async function published(port: Port, input: PostInput): Promise<Polled | Held> {
  const { channel } = port;
  const handle = handleOf(port, input);
  const post = postOf(input);
  const settings = input.settings ?? {};
  for (let step = await channel.prepare?.(post, settings, handle); step !== undefined && step !== 'ready';)
    step = await channel.prepare!(post, settings, handle);
  let answer: Polled | Held = await channel.publish(post, settings, handle);
  while ('processingMs' in answer) answer = await channel.poll!(post, settings, handle);
  return answer;
}

interface CommentInput extends PostInput {
  published: Published;
  parent?: { id: string; saved?: unknown };
  fields?: Readonly<Record<string, string>>;
}
const repostOf = ({ published: of, id = POST_ID, fields }: CommentInput) => ({
  id,
  published: of,
  ...(fields && { fields }),
});
const commentOf = ({ published: of, parent, ...input }: CommentInput) => ({
  post: postOf(input),
  published: of,
  ...(parent && { parent }),
});
interface LoginInput {
  code?: string;
  callback?: Readonly<Record<string, string>>;
  kept?: Readonly<Record<string, string>>;
  tokens?: Tokens;
}
const APP: App = { clientId: 'the-client', clientSecret: 'the-app-secret' };
const appOf = ({ fixture }: Port): App => fixture.app ?? APP;

/** Fails for a count that analytics would not know, whatever the types say. */
const inCatalogue = (metrics: readonly string[]) => expect(metrics.filter((metric) => !isMetric(metric))).toEqual([]);

/** By the name of a case's operation: input and result of each are those of the port's method. */
const OPERATIONS = {
  profile: ({ channel }: Port) => channel.profile(),
  publish: published,
  /** Input: `PostInput` with `saved`; a state of the network other than published. */
  poll: ({ channel }: Port, input: PostInput) =>
    channel.poll!(postOf(input), input.settings ?? {}, { saved: input.saved }),
  find: ({ channel }: Port, input: PostInput) => channel.find!(postOf(input), input.settings ?? {}, lookUpOf(input)),
  remove: ({ channel }: Port, of: Published) => channel.remove!(of),
  /** Input: `CommentInput`; so of `reply`, with `parent`. */
  comment: (port: Port, input: CommentInput) => port.channel.comment!(commentOf(input), handleOf(port, input)),
  reply: (port: Port, input: CommentInput) => port.channel.comment!(commentOf(input), handleOf(port, input)),
  findComment: ({ channel }: Port, input: CommentInput) => channel.findComment!(commentOf(input), lookUpOf(input)),
  /** Input: `{ published, id?, fields? }`. */
  repost: (port: Port, input: CommentInput) => port.channel.repost!(repostOf(input), handleOf(port, input)),
  findRepost: ({ channel }: Port, input: CommentInput) => channel.findRepost!(repostOf(input), lookUpOf(input)),
  async metrics({ channel }: Port, posts: readonly Published[]) {
    const told = await channel.metrics!(posts);
    inCatalogue(told.flatMap(({ counts }) => Object.keys(counts)));
    return told;
  },
  async channelMetrics({ channel }: Port, days: { from: string; to: string }) {
    const series = await channel.channelMetrics!(days);
    inCatalogue(series.map(({ metric }) => metric));
    return series;
  },
  comments: ({ channel }: Port, { published: of, cursor }: { published: Published; cursor?: string }) =>
    channel.comments!(of, cursor),
  hide: ({ channel }: Port, { id, hidden }: { id: string; hidden: boolean }) => channel.hide!({ id }, hidden),
  /** Input: a handle as a person types it. Where anyone may ask, it is asked without the channel's login. */
  async publicProfile({ channel, providers, adapter, values, fixture }: Port, typed: string) {
    const { by, read } = adapter.publicProfile!;
    const wanted = read(typed);
    if (!wanted) return 'no handle';
    const { handle, values: named } = wanted;
    const asked =
      by === 'channel'
        ? channel
        : providers.connectSteps(adapter, { values: { ...values, ...named }, account: '', app: fixture.app });
    return { handle, ...(await asked.publicProfile!(handle)) };
  },
  mentions: ({ channel }: Port, query: string) => channel.mentions!(query),
  tools: ({ channel }: Port, { name, data = {} }: { name: string; data?: unknown }) => channel.tool!(name, data),
  pages: ({ channel }: Port) => channel.pages!(),
  choose: ({ channel, fixture }: Port, page: string) =>
    channel.choose!(page, fixture.tokens ?? { accessToken: 'the-token' }),
  channelLimits: ({ channel }: Port) => channel.channelLimits!(),

  /** The consent page as `{ address, query }`, without what is random. */
  async authorize(port: Port) {
    const { providers, adapter, values } = port;
    const { url } = await providers.authorize(adapter, {
      app: appOf(port),
      values,
      redirectUri: REDIRECT,
      state: 'the-state',
    });
    const { origin, pathname, searchParams } = new URL(url);
    const query = Object.fromEntries(searchParams);
    if (adapter.login.kind === 'oauth2' && adapter.login.pkce) {
      expect(query).toMatchObject({ code_challenge: expect.any(String), code_challenge_method: 'S256' });
      delete query['code_challenge'];
      delete query['code_challenge_method'];
    }
    if (adapter.login.kind === 'oauth2' && adapter.login.nonce) delete query['nonce'];
    return { address: origin + pathname, query };
  },
  /** Input: `LoginInput`; the code is `the-code`, the PKCE verifier `the-verifier`, unless it says otherwise. */
  exchange: (port: Port, { code = 'the-code', kept = {}, callback }: LoginInput = {}) =>
    port.providers.exchange(port.adapter, {
      app: appOf(port),
      values: port.values,
      redirectUri: REDIRECT,
      code,
      state: 'the-state',
      kept: { verifier: 'the-verifier', ...kept },
      callback,
    }),
  refresh: (port: Port, { tokens }: LoginInput = {}) =>
    port.providers.refresh(port.adapter, {
      values: port.values,
      tokens: tokens ?? port.fixture.tokens ?? { accessToken: '' },
      app: appOf(port),
    }),
  revoke: (port: Port) =>
    port.providers.revoke(port.adapter, { values: port.values, tokens: port.fixture.tokens!, app: appOf(port) }),
  signIn: ({ providers, adapter, values }: Port) => providers.signIn(adapter, values),
  /** The start of an approval: `{ url, kept }`. */
  async begin(port: Port) {
    const { providers, adapter, values } = port;
    const start = { app: appOf(port), values, redirectUri: REDIRECT, state: 'the-state' };
    const { url, kept } = await providers.authorize(adapter, start);
    return { url, kept };
  },
  approved: (port: Port, { kept = {}, callback = {} }: LoginInput) =>
    port.providers.poll(port.adapter, { app: appOf(port), values: port.values, kept, callback }),
} as const;

/** The declaration of a network as its fixture states it; what is absent is left out. */
function declaredOf(adapter: SocialAdapter): Record<string, unknown> {
  const { login, once, threads, editor, limits, pace, plugs, tools, comment, repost, publicProfile } = adapter;
  const { refusal: _, ...data } = { refusal: undefined, ...login };
  const addresses = JSON.stringify(data).replace(/\{(\w+)\}/g, (all, name: string) => adapter.hosts?.[name] ?? all);
  return {
    login: JSON.parse(addresses) as unknown,
    once,
    threads,
    limits,
    settings: Object.keys(settingsOf(adapter)),
    ...(editor && { editor }),
    ...(pace && { pace }),
    ...(plugs && { plugs: plugs.map(({ identifier }) => identifier) }),
    ...(tools && { tools: Object.keys(tools) }),
    ...(comment && {
      comment: {
        once: comment.once,
        ...(comment.replies && { replies: true }),
        ...(comment.limits && { limits: comment.limits }),
      },
    }),
    ...(repost && { repost: repost.once }),
    ...(publicProfile && {
      publicProfile: { by: publicProfile.by, ...(publicProfile.optIn !== undefined && { optIn: publicProfile.optIn }) },
    }),
  };
}
const settingsOf = ({ settings }: SocialAdapter): Record<string, { type?: string }> =>
  (z.toJSONSchema(settings, { io: 'input', unrepresentable: 'any' }).properties ?? {}) as Record<
    string,
    { type?: string }
  >;

export const socialSuite: Suite<SocialAdapter, Port, SocialFixture> = {
  domain: 'social',
  fieldsOf: ({ credentials }) => credentials,
  open(providers, adapter, values, fixture) {
    const { account, tokens, app } = fixture;
    const kept: unknown[] = [];
    const channel = providers.connectSteps(adapter, { values, account, tokens, app });
    return { channel, providers, adapter, values, fixture, kept };
  },
  hidden(operation, { tokens, app, declares }) {
    if (operation === 'publicProfile' && (declares?.['publicProfile'] as { by: string } | undefined)?.by === 'anyone')
      return [];
    const { clientSecret, botToken, consumerSecret } = app ?? APP;
    const ofApp = [clientSecret, botToken, consumerSecret];
    const ofAccount = [tokens?.accessToken, tokens?.refreshToken, tokens?.tokenSecret];
    const isLogin = ['authorize', 'exchange', 'begin', 'approved', 'signIn'].includes(operation);
    const used = isLogin ? ofApp : operation === 'refresh' || app ? [...ofApp, ...ofAccount] : ofAccount;
    return used.filter((secret) => secret !== undefined && secret !== '') as string[];
  },
  declared: declaredOf,
  operations: OPERATIONS,
  more: (adapter, fixture) => [
    ...ownChecks(adapter, fixture),
    ...lostChecks(adapter, fixture),
    ...goingOnChecks(adapter, fixture),
    ...timeChecks(adapter, fixture),
    ...pictureChecks(adapter, fixture),
    ...placeChecks(adapter, fixture),
    ...limitChecks(adapter),
  ],
};

/** Ends of a poll other than a post that is out. */
const FAILED = ['rejected', 'expired'];
/** Whether a body tells a reason; a page of HTML does not. */
const hasWords = ({ json, text = '' }: Says): boolean => json !== undefined || (text !== '' && !text.startsWith('<'));

/** What the operations cannot tell: every tool has a case, every login is shown, wrong settings are named. */
function ownChecks(adapter: SocialAdapter, fixture: SocialFixture): Check[] {
  const { cases, refusals, values } = fixture;
  const refused = (name: string) =>
    refusals.filter(({ operation }) => operation === name).map(({ failure }) => failure);
  const shown = new Set(cases.map(({ operation }) => operation));
  const { login } = adapter;
  const usable = (cases.find(({ operation }) => operation === 'publish')!.input as PostInput).settings ?? {};
  return [
    {
      name: 'has a case for every tool, and for every step of its login',
      async run() {
        const named = cases.flatMap(({ operation, input }) =>
          operation === 'tools' ? [(input as { name: string }).name] : [],
        );
        expect(Object.keys(adapter.tools ?? {}).filter((name) => !named.includes(name))).toEqual([]);
        const wanted = {
          oauth2: [
            'authorize',
            'exchange',
            ...('renewal' in login && typeof login.renewal === 'string' ? [] : ['refresh']),
          ],
          approval: ['begin', 'approved'],
          credentials: ['signIn', 'refresh'].filter((name) => name in login),
        }[login.kind];
        if (login.kind === 'oauth2' && login.revoke) wanted.push('revoke');
        for (const name of ['findComment', 'findRepost'] as const)
          if (adapter[name === 'findComment' ? 'comment' : 'repost']?.find) wanted.push(name);
        if (adapter.choose) wanted.push('choose');
        expect(['profile', ...wanted].filter((name) => !shown.has(name))).toEqual([]);
        if (wanted.includes('refresh')) expect(refused('refresh')).toContain('reauthorize');
      },
    },
    {
      name: 'has a failure of its poll, and the sentence of every refusal that has words',
      async run() {
        const polls = cases.filter(({ operation }) => operation === 'poll');
        const isBad = ({ result }: Case) => Object.keys(Object(result)).some((key) => FAILED.includes(key));
        expect(adapter.capabilities.includes('poll')).toBe(polls.some(isBad) || refused('poll').length > 0);
        const silent = refusals.filter(({ says, sentence }) => hasWords(says) && sentence === undefined);
        expect(silent.map(({ name, operation }) => `${operation}: ${name}`)).toEqual([]);
      },
    },
    {
      name: 'keeps settings it does not know, and names the field of each wrong one [T6]',
      async run() {
        const more = { ...usable, __type: adapter.id, invented: { deep: 1 } };
        expect(adapter.settings.parse(more)).toMatchObject({ invented: { deep: 1 } });
        for (const [key, { type }] of Object.entries(settingsOf(adapter))) {
          const wrong = type === 'object' || type === 'array' ? 'wrong' : { wrong: true };
          const { error } = adapter.settings.safeParse({ ...more, [key]: wrong });
          expect([key, error?.issues.map(({ path }) => path[0])]).toEqual([key, expect.arrayContaining([key])]);
        }
      },
    },
    settingCheck(adapter, usable),
    {
      name: 'lets a person name every id that it gave a post or a comment',
      run: async () =>
        cases
          .filter(({ operation, alike }) => !alike && ['publish', 'find', 'comment', 'findComment'].includes(operation))
          .flatMap(({ result }) => result ?? [])
          .filter(isPublished)
          .forEach(({ id }) => checkReleaseId(adapter, id, fixture.account)),
    },
    {
      name: 'refuses stored settings that it does not take any more before anything is sent',
      async run() {
        const [first] = Object.entries(settingsOf(adapter));
        if (!first) return;
        const [key, { type }] = first;
        const wrong = { [key]: type === 'object' || type === 'array' ? 'wrong' : { wrong: true } };
        const wire = await sharedWire();
        wire.plays([]);
        await using providers = localProviders({ outbound: wire.outbound });
        const port = socialSuite.open(providers, adapter, values, fixture);
        const sent = (async () => port.channel.publish(postOf({ text: 'Hi' }), wrong, handleOf(port, {})))();
        const { failure, message } = await failureOf(sent);
        expect([failure, message]).toEqual(['rejected', expect.stringContaining(key)]);
        expect(wire.asked).toEqual([]);
      },
    },
    {
      name: 'declares a field for every placeholder, and what a class that looks nothing up cannot do',
      async run() {
        const templates = [adapter.api, ...(login.kind === 'oauth2' ? [login.authorize, login.token] : [])].join(' ');
        const known = Object.keys({ ...adapter.hosts, ...adapter.credentials, ...values });
        for (const [, name] of templates.matchAll(/\{(\w+)\}/g)) expect(known).toContain(name);
        expect(adapter.find === undefined).toBe(adapter.once === 'at-most-once');
      },
    },
  ];
}

/** The look-up of what an operation makes, and the class of the network for it. */
const LOOK_UPS = {
  publish: { lookUp: 'find', onceOf: ({ once }: SocialAdapter) => once },
  comment: { lookUp: 'findComment', onceOf: ({ comment }: SocialAdapter) => comment?.once },
  repost: { lookUp: 'findRepost', onceOf: ({ repost }: SocialAdapter) => repost?.once },
} as const;

/**
 * Lost answers. A case of `find` belongs to the case of `publish` with the same name, one of `findComment` to that of
 * `comment` or `reply` with the same name and parent: what was saved before the answer was lost is what the look-up is handed, and it finds what was made.
 */
const lostChecks = (adapter: SocialAdapter, fixture: SocialFixture): Check[] =>
  (['publish', 'comment', 'repost'] as const).flatMap((operation) => lostOf(adapter, fixture, operation));

function lostOf(adapter: SocialAdapter, fixture: SocialFixture, operation: keyof typeof LOOK_UPS): Check[] {
  const { lookUp: finding, onceOf } = LOOK_UPS[operation];
  const of = (...names: string[]) => fixture.cases.filter((one) => names.includes(one.operation));
  const creating = ({ exchanges }: Case) => exchanges.findLastIndex(({ creates }) => creates);
  const parentOf = ({ input }: Case) => (input as Partial<CommentInput> | undefined)?.parent?.id;
  const lookUps = of(finding);
  const findingOf = (one: Case) => lookUps.find((each) => each.name === one.name && parentOf(each) === parentOf(one));
  const made = of(operation, ...(operation === 'comment' ? ['reply'] : []));
  const checks: Check[] = made
    .filter((one) => creating(one) !== -1 && findingOf(one))
    .map((one) => ({
      name: `${one.operation}${one.name === undefined ? '' : ` (${one.name})`}: a lost answer is looked up by what was saved`,
      async run() {
        const lookUp = findingOf(one)!;
        const clock = { ...systemClock, now: () => fixture.now ?? systemClock.now(), sleep: async () => {} };
        const wire = await sharedWire();
        await using providers = localProviders({ clock, outbound: wire.outbound });
        const port = socialSuite.open(providers, adapter, fixture.values, fixture);
        wire.plays(one.exchanges, { at: creating(one), answer: 'hang-up' });
        expect(await failureOf(OPERATIONS[operation](port, one.input as CommentInput))).toMatchObject({
          failure: 'lost',
        });
        const input = lookUp.input as CommentInput;
        expect(port.kept.at(-1)).toEqual(input.saved);
        wire.plays(lookUp.exchanges);
        const found = await OPERATIONS[finding](port, { ...(one.input as CommentInput), ...input });
        expect(wire.faults).toEqual([]);
        const ids = found === undefined ? [] : ('id' in found ? [found] : found).map(({ id }) => id);
        expect(ids).toContain((one.result as Published).id);
      },
    }));
  const once = onceOf(adapter);
  if (once !== undefined && once !== 'at-most-once')
    checks.push({
      name: `has a look-up for a lost answer of a ${operation}, and one that finds nothing`,
      async run() {
        expect(made.some((one) => findingOf(one))).toBe(true);
        const isNothing = ({ result }: Case) => result === undefined || (Array.isArray(result) && result.length === 0);
        expect(lookUps.some(isNothing)).toBe(true);
      },
    });
  return checks;
}

/** Asks a session of an upload how far it is, which each process does once. */
const asksHowFar = ({ asks }: Exchange) =>
  String(asks.headers?.['content-range']).startsWith('bytes */') || asks.url.endsWith('/post/publish/status/fetch/');

/**
 * A process that ends before a post is public. From each state that was saved by then another process asks what is
 * left, and nothing that was answered before, and publishes the post.
 */
const goingOnChecks = (adapter: SocialAdapter, fixture: SocialFixture): Check[] =>
  fixture.cases
    .filter(({ operation, input, failure, result }) => {
      const { media = [], files } = (input ?? {}) as PostInput;
      return (
        operation === 'publish' &&
        adapter.prepare &&
        failure === undefined &&
        isPublished(result) &&
        (media.length > 0 || files)
      );
    })
    .map((one) => ({
      name: `publish (${one.name}): another process goes on from each state before the post is public`,
      async run() {
        const input = one.input as PostInput;
        const clock = { ...systemClock, now: () => fixture.now ?? systemClock.now(), sleep: async () => {} };
        const wire = await sharedWire();
        const newProcess = () => {
          const providers = localProviders({ clock, outbound: wire.outbound });
          return socialSuite.open(providers, adapter, { ...fixture.values, ...one.values }, fixture);
        };
        const port = newProcess();
        const handle = handleOf(port, input);
        const { save } = handle;
        const states: { saved: unknown; asked: number }[] = [];
        handle.save = async (data) => {
          await save(data);
          states.push({ saved: handle.saved, asked: wire.asked.length });
        };
        wire.plays(one.exchanges);
        const settings = input.settings ?? {};
        while ((await port.channel.prepare!(postOf(input), settings, handle)) !== 'ready');
        for (const { saved, asked } of states) {
          const resumed = fixture.cases.find((each) => isResumedFrom(each, one, saved));
          const rest = one.exchanges.slice(asked);
          wire.plays(resumed?.exchanges ?? (rest[0] && asksHowFar(rest[0]) ? [rest[0], ...rest] : rest));
          const outcome = await published(newProcess(), { ...input, saved }).catch((error: unknown) => ({
            failed: error,
          }));
          expect([saved, wire.faults, wire.left, outcome]).toEqual([saved, [], 0, one.result]);
        }
      },
    }));
const isPublished = (result: unknown): result is Published =>
  typeof result === 'object' && result !== null && 'id' in result;
/** A case that shows how the same post goes on from this state. */
const isResumedFrom = ({ operation, input, result }: Case, of: Case, saved: unknown): boolean => {
  const { saved: from, ...given } = (input ?? {}) as PostInput;
  const same = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b);
  return (
    operation === 'publish' &&
    from !== undefined &&
    same(from, saved) &&
    same(given, of.input) &&
    same(result, of.result)
  );
};

/** Whether a request has bytes of a video in it. */
const sendsVideo = ({ asks }: Exchange) =>
  [asks.text, ...Object.values(asks.multipart ?? {})].some((value) => String(value).includes('of a video'));

/** A large file takes longer than a call may: a video is sent as a stream, whose time is by its length. */
const timeChecks = (adapter: SocialAdapter, fixture: SocialFixture): Check[] =>
  fixture.cases
    .filter(({ operation, exchanges, failure }) => operation === 'publish' && !failure && exchanges.some(sendsVideo))
    .map((one) => ({
      name: `publish (${one.name}): has more time to send a video than for a call`,
      async run() {
        const clock = { ...systemClock, now: () => fixture.now ?? systemClock.now(), sleep: async () => {} };
        const wire = await sharedWire();
        const requests: (OutboundRequest | undefined)[] = [];
        const outbound: Outbound = {
          ...wire.outbound,
          fetch(url, request) {
            requests.push(request);
            return wire.outbound.fetch(url, request);
          },
        };
        await using providers = localProviders({ clock, outbound });
        const values = { ...fixture.values, ...one.values };
        wire.plays(one.exchanges);
        await published(socialSuite.open(providers, adapter, values, fixture), one.input as PostInput);
        const isTimed = ({ body, upload }: OutboundRequest = {}) =>
          upload !== undefined && typeof body === 'object' && 'from' in body;
        const short = one.exchanges.filter((exchange, n) => sendsVideo(exchange) && !isTimed(requests[n]));
        expect(short.map(({ asks }) => `${asks.method} ${asks.url}`)).toEqual([]);
      },
    }));

/** Where a network does not take every picture, each is sent as `fit` makes it: whatever was uploaded, it is taken. */
const pictureChecks = (adapter: SocialAdapter, fixture: SocialFixture): Check[] =>
  fixture.cases
    .filter(({ operation, input, failure }) => {
      const { media = [], saved } = (input ?? {}) as PostInput;
      const isNew = operation === 'publish' && failure === undefined && saved === undefined;
      return isNew && media.some(isStill) && !adapter.limits.mediaTypes.includes('image/*');
    })
    .map((one) => ({
      name: `publish (${one.name}): makes every picture fit`,
      async run() {
        const input = one.input as PostInput;
        const clock = { ...systemClock, now: () => fixture.now ?? systemClock.now(), sleep: async () => {} };
        const wire = await sharedWire();
        await using providers = localProviders({ clock, outbound: wire.outbound });
        const made: string[] = [];
        const media = input.media!.map((file) => ({
          ...file,
          fit: (rules: PictureRules) => (made.push(file.name), file.fit(rules)),
        }));
        wire.plays(one.exchanges);
        const port = socialSuite.open(providers, adapter, { ...fixture.values, ...one.values }, fixture);
        await published(port, { ...input, media });
        expect(input.media!.filter((file) => isStill(file) && !made.includes(file.name))).toEqual([]);
      },
    }));
const isStill = ({ contentType }: Media): boolean => ['image/jpeg', 'image/png'].includes(contentType);

const PLACE = /\/\/[^/"\\\s]+/g;
/** The same answers, in which every address is one of another server. */
const elsewhere = <T>(says: T): T => JSON.parse(JSON.stringify(says).replace(PLACE, '//elsewhere.example')) as T;

/** A server that its user chose may answer any address, of uploads too: nothing is sent to another server. */
const placeChecks = (adapter: SocialAdapter, fixture: SocialFixture): Check[] =>
  Object.values(adapter.credentials).some(({ form }) => form === 'origin' || form === 'site')
    ? fixture.cases
        .filter(({ exchanges }) => exchanges.length > 0)
        .map((one) => ({
          name: `${one.operation}${one.name === undefined ? '' : ` (${one.name})`}: asks no server that an answer names`,
          async run() {
            const clock = { ...systemClock, now: () => fixture.now ?? systemClock.now(), sleep: async () => {} };
            const wire = await sharedWire();
            await using providers = localProviders({ clock, outbound: wire.outbound });
            const values = { ...fixture.values, ...one.values };
            const port = socialSuite.open(providers, adapter, values, fixture);
            wire.plays(one.exchanges.map((exchange) => ({ ...exchange, says: elsewhere(exchange.says) })));
            const outcome = socialSuite.operations[one.operation]!(port, one.input);
            await outcome.catch(() => undefined); // refused or not, it is about what was asked
            const known = one.exchanges.map(({ asks }) => new URL(asks.url).host);
            const strange = wire.asked.filter((asked) => !known.some((host) => asked.includes(`//${host}/`)));
            expect(strange).toEqual([]);
          },
        }))
    : [];
