import type { z } from 'zod';
import { type Clock, ProviderError } from '../../platform/kernel/index.ts';
import type { Adapter, Manifest, Setup } from '../kit/declare/adapter.ts';
import type { Field, Fields, Values, ValuesOf } from '../kit/declare/fields.ts';
import type { Line } from '../kit/declare/line.ts';
import type { Http } from '../kit/wire/http.ts';
import type { TextUnit } from '../kit/protocols/counted-text.ts';
import type { OAuth1 } from '../kit/protocols/oauth1.ts';
import type { App, OAuth2, Tokens } from '../kit/protocols/oauth.ts';
import type { Plug } from './_plugs.ts';
import type {
  Chosen,
  CommentPage,
  CommentRead,
  Handle,
  LookUp,
  MediaKind,
  Mention,
  NewComment,
  Page,
  Polled,
  Post,
  PostCounts,
  Prepared,
  Processing,
  Profile,
  Published,
  Repost,
  Series,
} from './_values.ts';
export type { App, Tokens } from '../kit/protocols/oauth.ts';
export type * from './_values.ts';
export type { AutoPlug, Plug, PlugField, PostPlug } from './_plugs.ts';

/** What the steps of an approval are handed. `callback`: the parameters that the network sent back, where it does. */
export interface Approving<F extends Fields = Fields> {
  http: Http;
  clock: Clock;
  app: App;
  values: ValuesOf<F>;
}
/**
 * The way to connect a channel: by consent at the network, by an approval that is not OAuth, or by typed fields. The
 * addresses of `oauth2` are paths of `api`, or absolute with `{field}` or `{host}` (`hosts`).
 */
export type Login<F extends Fields = Fields> =
  | (OAuth2 & {
      kind: 'oauth2';
      /** Used with an app that has a consumer key and no client id (X). */
      oauth1?: OAuth1;
      /** Registers an app, where a network has many servers and the person names one. */
      registerApp?: (call: {
        http: Http;
        redirectUri: string;
        scopes: readonly string[];
        appName: string;
      }) => Promise<App>;
    })
  | {
      kind: 'approval';
      /**
       * Answers the address where the person approves, and what `poll` needs: a login request (MeWe), a signer (Farcaster),
       * a word to be sent to a bot (Telegram). `state` comes back where the network calls `redirectUri`.
       */
      begin: (
        call: Approving<F> & { redirectUri: string; state: string },
      ) => Promise<{ url: string; kept?: Values | undefined }>;
      /** Asks whether the person has approved; undefined: not yet. A refusal is `reauthorize`. */
      poll: (call: Approving<F> & { kept: Values; callback: Values }) => Promise<Tokens | undefined>;
    }
  | {
      kind: 'credentials';
      /** Exchanges the typed fields for tokens; absent where the fields are used as they are. */
      signIn?: (call: { http: Http; values: ValuesOf<F>; clock: Clock }) => Promise<Tokens>;
      /**
       * Renews tokens; a refusal is `reauthorize`. `http` sends no token by itself; its base follows `tokens.values`,
       * `values` are as typed.
       */
      refresh?: (call: { http: Http; values: ValuesOf<F>; tokens: Tokens; clock: Clock }) => Promise<Tokens>;
    };

export type SocialLine<F extends Fields = Fields> = Line<'http' | 'sockets', F>;
/** The line of a connected channel. */
export type Connection<F extends Fields = Fields> = SocialLine<F> & {
  /** The connected account at the network (`Profile.id`). */
  account: string;
  /** Its access token, where there is one. Calls of a login by OAuth 1.0a are signed by `http`. */
  token: string | undefined;
  /** The app that it is connected by: of the organization, else of the operator; absent where none is declared. */
  app: App | undefined;
};
/** A field of the app, as the catalog shows it. */
interface AppField {
  name: string;
  label: string;
  secret: boolean;
  required: boolean;
}
export interface SocialFacts {
  login: Login['kind'];
  /** Fields of an app of its own, which an organization may set; absent where there is none. */
  app?: readonly AppField[];
  once: OnceClass;
  threads: Threads;
  limits: Limits;
}

type PostCall<F extends Fields, S extends z.ZodType> = Connection<F> & {
  post: Post;
  settings: z.output<S>;
};
type Attempt<F extends Fields, S extends z.ZodType> = PostCall<F, S> & Handle;
/**
 * Looks for a post whose answer was lost. Answers one post when the network knows it by our key or id, else a list of
 * all posts since then that look like it (same text, parent and media), whoever made them. Throws where it cannot tell.
 */
type Find<C> = (call: C & LookUp) => Promise<Published | readonly Published[] | undefined>;

/** The steps of publishing. Whoever answers that the network still works on a post can ask it. */
type Publishing<F extends Fields, S extends z.ZodType> = {
  /**
   * One step of what comes before: uploads, containers. Nothing is public after it. It fits into the time of one call,
   * and is called again until the network is ready, with what it saved.
   */
  prepare?: (call: Attempt<F, S>) => Promise<Prepared>;
} & (
  | { publish(call: Attempt<F, S>): Promise<Published>; poll?: never; processesWithinMs?: never }
  | {
      publish(call: Attempt<F, S>): Promise<Published | Processing>;
      /** Throws where the network cannot be asked now, which says nothing about the post. */
      poll(call: PostCall<F, S> & { saved: unknown }): Promise<Polled>;
      /** The longest time that the network works on a post, in milliseconds. Default: a day. */
      processesWithinMs?: number;
    }
);

/** The means by which something is made once. Every class but the last can look for it. */
export type OnceClass = 'key' | 'two-phase' | 'own-id' | 'read-back' | 'at-most-once';
type Once<C> = { once: Exclude<OnceClass, 'at-most-once'>; find: Find<C> } | { once: 'at-most-once'; find?: never };
/** A further thing that a channel can make, once: a comment, a repost. The answer names what was made. */
type Making<C> = Once<C> & { send(call: C & Handle): Promise<Published> };
type Commenting<F extends Fields> = Making<Connection<F> & NewComment> & {
  /** Comments can answer comments (`parent`). */
  replies?: true;
  /** Greatest length of a comment, in the unit of `limits`. Default: that of a post. */
  text?: number;
};

/**
 * A question to a network that the form of a post asks, such as its boards; changes nothing there. `data`: what the
 * form sends.
 */
export interface Tool<F extends Fields = Fields, D extends z.ZodType = z.ZodType> {
  description: string;
  data: D;
  call(call: Connection<F> & { data: z.output<D> }): Promise<unknown>;
}
/** Declares a tool; its schema types its data. */
export const tool = <F extends Fields, D extends z.ZodType>(spec: Tool<F, D>): Tool<F> => spec as unknown as Tool<F>;

/** `html` has the tags `b i u a` and line breaks; `mrkdwn` is Slack's. */
export type TextForm = 'plain' | 'markdown' | 'html' | 'mrkdwn';

/** How an item of a thread after the first goes out, or that posts have one item. */
export type Threads = 'reply' | 'comment' | 'message' | 'none';

/** So many posts in so long a time, of one account or of all accounts of the app together. */
export interface Pace {
  per: 'account' | 'app';
  posts: number;
  ms: number;
}

/** What a network takes in one post, or in one item of a thread. */
export interface Limits {
  /** Greatest length, counted in `unit`. */
  text: number;
  unit: TextUnit;
  /** Greatest length beside files, where it is less: a caption of Telegram. */
  textWithFiles?: number;
  /** A second limit, in UTF-8 bytes. */
  textBytes?: number;
  /** Number of characters that every link counts as. */
  linkLength?: number;
  /** Of a mention `@name@host` only `@name` counts. */
  shortMentions?: true;
  /** Number of files of all kinds. */
  media: number;
  needsMedia?: boolean;
  /** Content types; `image/*` is every picture. */
  mediaTypes: readonly string[];
  /** Files of different kinds do not go together. */
  oneKind?: boolean;
  image?: FileLimits;
  video?: FileLimits;
  /** Default: as videos. */
  audio?: FileLimits;
  /** PDF files. */
  document?: FileLimits;
  /** The network fetches such files by itself: a post with one that has no `publicUrl` is refused. */
  fetches?: readonly MediaKind[];
  /** Greatest number of links, hashtags and mentions in the text. */
  links?: number;
  hashtags?: number;
  mentions?: number;
  /** Settings whose text counts with that of the post, such as a content warning. */
  countedSettings?: readonly string[];
  /** What differs by the value of a setting, such as a story by `post_type`. */
  byType?: { setting: string; limits: Readonly<Record<string, Partial<Omit<Limits, 'byType'>>>> };
}
/** Limits of one kind of file: least and greatest, where there are two. */
export interface FileLimits {
  /** Number in a post. */
  count?: number;
  /** Greatest size. Pictures are scaled to it. */
  bytes?: number;
  /** Of the shorter and of the longer side, in pixels. */
  side?: readonly [number, number];
  /** Width by height. */
  ratio?: readonly [number, number];
  seconds?: readonly [number, number];
}

/** The declaration of a network. An optional method that is present is a capability. */
export type SocialSpec<F extends Fields, S extends z.ZodType> = Manifest<F> &
  Once<PostCall<F, S>> &
  Publishing<F, S> & {
    login: Login<F>;
    /**
     * The fields of the app at the network (`clientApp`, and those of `App`). The operator sets them in the environment
     * (`NETWORK_APPS`), an organization in its settings, which win (DE42). `appOneOf`: as `oneOf` of `Setup`.
     */
    app?: Fields & { readonly [K in keyof App]?: Field };
    appOneOf?: Setup['oneOf'];
    limits: Limits;
    /** `comment`: later items are comments below the first, sent by `comment`. */
    threads: Threads;
    pace?: readonly Pace[];
    /** Schema of the settings of a post; unknown keys are kept and ignored (T6). */
    settings: S;
    /** Settings that name a file, as `{ id?, path }` or an address, whose bytes the network is sent. */
    fileSettings?: readonly string[];
    /** Milliseconds after the request before a missing post counts as absent. Default: `timeoutMs` + 10 s. */
    settlesWithinMs?: number;
    /** The editor that clients show. Default: `normal`, which is plain text. */
    editor?: 'normal' | 'markdown' | 'html';
    /** The form of `post.text`, where it is not that of the editor. */
    textForm?: TextForm;
    toolTip?: string;
    isWeb3?: boolean;
    profile(call: Connection<F>): Promise<Profile>;
    /** A post that is gone already counts as removed. */
    remove?: (call: Connection<F> & { published: Published }) => Promise<void>;
    comment?: Commenting<F>;
    /** Repeats a post of another channel, or of this one. */
    repost?: Making<Connection<F> & { repost: Repost }>;
    /** Counts of posts as they are now; `metricsAtOnce`: number of posts in one call, default 1. */
    metrics?: (call: Connection<F> & { posts: readonly Published[] }) => Promise<readonly PostCounts[]>;
    metricsAtOnce?: number;
    /** Counts of the channel, of the days `from` to `to` (inclusive, UTC dates). */
    channelMetrics?: (call: Connection<F> & { from: string; to: string }) => Promise<readonly Series[]>;
    /** Comments below a post, a page at a time. */
    comments?: (call: Connection<F> & { published: Published; cursor?: string | undefined }) => Promise<CommentPage>;
    /** Hides a comment from others, or shows it again. */
    hide?: (call: Connection<F> & { comment: Pick<CommentRead, 'id'>; hidden: boolean }) => Promise<void>;
    mentions?: (call: Connection<F> & { query: string }) => Promise<readonly Mention[]>;
    /**
     * Writes a mention into `post.text`, in its form and with its escapes. Both fields are as a client sent them:
     * undefined for an id that the network cannot have leaves what the mention shows. Default: that.
     */
    mention?: (mention: Pick<Mention, 'id' | 'label'>) => string | undefined;
    /** By the method names of the clients. */
    tools?: Readonly<Record<string, Tool<F>>>;
    /** Pages of the connected person, of which one is chosen before the channel can post. */
    pages?: (call: Connection<F>) => Promise<readonly Page[]>;
    /** Answers tokens whose `values` name the page, and which `profile` describes. */
    choose?: (call: Connection<F> & { page: string; tokens: Tokens }) => Promise<Chosen>;
    plugs?: readonly Plug[];
    /** Reads the limits of this channel, where servers or accounts differ. */
    channelLimits?: (call: Connection<F>) => Promise<Partial<Limits>>;
  };

/** A connected channel. Each operation may throw `ProviderError`. */
export interface Social {
  profile(): Promise<Profile>;
  prepare?(post: Post, settings: unknown, handle: Handle): Promise<Prepared>;
  publish(post: Post, settings: unknown, handle: Handle): Promise<Published | Processing>;
  poll?(post: Post, settings: unknown, attempt: { saved: unknown }): Promise<Polled>;
  find?(post: Post, settings: unknown, attempt: LookUp): Promise<Published | readonly Published[] | undefined>;
  remove?(published: Published): Promise<void>;
  comment?(comment: NewComment, handle: Handle): Promise<Published>;
  findComment?(comment: NewComment, attempt: LookUp): Promise<Published | readonly Published[] | undefined>;
  repost?(repost: Repost, handle: Handle): Promise<Published>;
  findRepost?(repost: Repost, attempt: LookUp): Promise<Published | readonly Published[] | undefined>;
  metrics?(posts: readonly Published[]): Promise<readonly PostCounts[]>;
  channelMetrics?(days: { from: string; to: string }): Promise<readonly Series[]>;
  comments?(published: Published, cursor?: string): Promise<CommentPage>;
  hide?(comment: Pick<CommentRead, 'id'>, hidden: boolean): Promise<void>;
  mentions?(query: string): Promise<readonly Mention[]>;
  /** Calls a declared tool with data that its schema has parsed. */
  tool?(name: string, data: unknown): Promise<unknown>;
  pages?(): Promise<readonly Page[]>;
  choose?(page: string, tokens: Tokens): Promise<Chosen>;
  channelLimits?(): Promise<Partial<Limits>>;
}

export type SocialAdapter<F extends Fields = Fields, S extends z.ZodType = z.ZodType> = SocialSpec<F, S> &
  Adapter<'social', SocialFacts, SocialLine<F>, F> & { connect(connection: Connection<F>): Social };

const OPTIONAL = [
  'prepare',
  'poll',
  'find',
  'remove',
  'comment',
  'repost',
  'metrics',
  'channelMetrics',
  'comments',
  'hide',
  'mentions',
  'tools',
  'pages',
  'plugs',
  'channelLimits',
] as const;
const appFieldOf = ([name, { label, secret, required = false }]: [string, Field]): AppField => ({
  name,
  label,
  secret,
  required,
});

/** Declares a social network. */
export const social = <const F extends Fields, S extends z.ZodType>(spec: SocialSpec<F, S>): SocialAdapter => {
  const adapter: SocialAdapter<F, S> = {
    ...spec,
    domain: 'social',
    facts: {
      login: spec.login.kind,
      once: spec.once,
      limits: spec.limits,
      threads: spec.threads,
      ...(spec.app && { app: Object.entries(spec.app).map(appFieldOf) }),
    },
    ...(spec.app && {
      setup: { fields: spec.app, owners: ['org'] as const, ...(spec.appOneOf && { oneOf: spec.appOneOf }) },
    }),
    capabilities: [
      'publish',
      ...OPTIONAL.filter((name) => spec[name as keyof typeof spec]),
      ...(spec.comment?.replies ? ['reply'] : []),
    ],
    connect: (connection) => connected(spec, connection),
  };
  return adapter as unknown as SocialAdapter; // the registry checks values against the fields, `settled` the settings
};

/** The methods of a channel: those that the network declares, and no others. */
function connected<F extends Fields, S extends z.ZodType>(spec: SocialSpec<F, S>, connection: Connection<F>): Social {
  /** Settings were judged when they were stored; since then the schema may have become stricter. */
  const settled = (post: Post, settings: unknown) => {
    const parsed = spec.settings.safeParse(settings);
    if (parsed.success) return { ...connection, post, settings: parsed.data };
    const [{ path, message } = { path: [], message: '' }] = parsed.error.issues;
    throw new ProviderError('rejected', `${spec.title} does not take the setting ${path.join('.')}: ${message}`);
  };
  /** Later items of a thread that are comments (`threads`). */
  const commenting = ({ thread }: { thread: readonly Published[] }) =>
    spec.threads === 'comment' && thread.length > 0 ? spec.comment : undefined;
  const itemOf = (post: Post, { thread }: { thread: readonly Published[] }): NewComment => ({
    post,
    published: thread[0]!,
    ...(spec.comment?.replies && thread.length > 1 && { parent: thread.at(-1)! }),
  });
  const { prepare, poll, find, remove, comment, repost, metrics, channelMetrics } = spec;
  const { comments, hide, mentions, tools, pages, choose, channelLimits } = spec;
  return {
    profile: () => spec.profile(connection),
    ...(prepare && {
      prepare: async (post, settings, handle) =>
        commenting(handle) ? 'ready' : prepare({ ...settled(post, settings), ...handle }),
    }),
    publish: (post, settings, handle) =>
      commenting(handle)?.send({ ...connection, ...itemOf(post, handle), ...handle }) ??
      spec.publish({ ...settled(post, settings), ...handle }),
    ...(poll && { poll: (post, settings, { saved }) => poll({ ...settled(post, settings), saved }) }),
    ...(find && {
      async find(post, settings, attempt) {
        const below = commenting(attempt);
        if (!below) return find({ ...settled(post, settings), ...attempt });
        if (!below.find) throw new ProviderError('unsupported', 'Comments cannot be looked for');
        return below.find({ ...connection, ...itemOf(post, attempt), ...attempt });
      },
    }),
    ...(remove && { remove: (published) => remove({ ...connection, published }) }),
    ...(comment && { comment: (one, handle) => comment.send({ ...connection, ...one, ...handle }) }),
    ...(comment?.find && {
      findComment: (one, attempt) => comment.find({ ...connection, ...one, ...attempt }),
    }),
    ...(repost && { repost: (one, handle) => repost.send({ ...connection, repost: one, ...handle }) }),
    ...(repost?.find && {
      findRepost: (one, attempt) => repost.find({ ...connection, repost: one, ...attempt }),
    }),
    ...(metrics && { metrics: (posts) => metrics({ ...connection, posts }) }),
    ...(channelMetrics && { channelMetrics: (days) => channelMetrics({ ...connection, ...days }) }),
    ...(comments && { comments: (published, cursor) => comments({ ...connection, published, cursor }) }),
    ...(hide && { hide: (one, hidden) => hide({ ...connection, comment: one, hidden }) }),
    ...(mentions && { mentions: (query) => mentions({ ...connection, query }) }),
    ...(tools && {
      async tool(name, data) {
        const one = Object.hasOwn(tools, name) ? tools[name] : undefined;
        if (!one) throw new ProviderError('unsupported', `${spec.title} has no method ${name}`);
        return one.call({ ...connection, data: one.data.parse(data) });
      },
    }),
    ...(pages && { pages: () => pages(connection) }),
    ...(choose && { choose: (page, tokens) => choose({ ...connection, page, tokens }) }),
    ...(channelLimits && { channelLimits: () => channelLimits(connection) }),
  };
}
