import type { z } from 'zod';
import type { Clock } from '../../platform/kernel/index.ts';
import type { Adapter, Manifest, Setup } from '../kit/declare/adapter.ts';
import type { Field, Fields, Values, ValuesOf } from '../kit/declare/fields.ts';
import type { Line } from '../kit/declare/line.ts';
import type { Http } from '../kit/wire/http.ts';
import type { Media } from '../kit/declare/media.ts';
import type { TextUnit } from '../kit/protocols/counted-text.ts';
import type { OAuth1 } from '../kit/protocols/oauth1.ts';
import type { App, OAuth2, Tokens } from '../kit/protocols/oauth.ts';
export type { Media } from '../kit/declare/media.ts';
export type { App, Tokens } from '../kit/protocols/oauth.ts';

/**
 * A post to publish: plain text made from the stored HTML, with its media in order. `id` is ours and the same on every
 * attempt.
 */
export interface Post {
  id: string;
  text: string;
  media: readonly Media[];
}
/** A published post. `saved`: data that a reply to it needs (Bluesky: uri and cid). */
export interface Published {
  id: string;
  url: string;
  saved?: unknown;
}
/** The network has the post and works on it: it is asked by `poll` after so long, by the handle that was saved. */
export interface Processing {
  processingMs: number;
}
/**
 * What became of a post that the network worked on. `rejected`: for good, with its words. `expired`: it dropped the
 * handle and published nothing, so the post begins anew.
 */
export type Polled = Published | Processing | { rejected: string } | { expired: true };
/** Whether the network is ready for the post; `againMs`: the next step can be made after so long. */
export type Prepared = 'ready' | { againMs: number };

/** The connected account. `id` is unique over all servers of a network: a channel is one account (S246). */
export interface Profile {
  id: string;
  name: string;
  handle: string;
  picture?: string;
  server?: string;
}

/**
 * An attempt whose answer was lost: the data that it saved, its thread (as in `publish`), and the earliest time of its
 * request, with allowance for clock differences.
 */
export interface LookUp {
  since: Date;
  saved: unknown;
  thread: readonly Published[];
}

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
  once: Once<Fields, z.ZodType>['once'];
  limits: Limits;
}

type PostCall<F extends Fields, S extends z.ZodType> = Connection<F> & {
  post: Post;
  settings: z.output<S>;
};
type Attempt<F extends Fields, S extends z.ZodType> = PostCall<F, S> & {
  /**
   * Data that an earlier attempt saved. `save` is durable when it ends, and must be called before the step that cannot
   * be undone.
   */
  saved: unknown;
  save: (handle: unknown) => Promise<void>;
  /** The published items of the thread, when this is a reply: root first, parent last. */
  thread: readonly Published[];
};
/**
 * Looks for a post whose answer was lost. Answers one post when the network knows it by our key or id, else a list of
 * all posts since then that look like it (same text, parent and media), whoever made them. Throws where it cannot tell.
 */
type Find<F extends Fields, S extends z.ZodType> = (
  call: PostCall<F, S> & LookUp,
) => Promise<Published | readonly Published[] | undefined>;

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

/** The means by which a post is published once. Every class but the last can look for a post. */
type Once<F extends Fields, S extends z.ZodType> =
  | { once: 'key' | 'two-phase' | 'own-id' | 'read-back'; find: Find<F, S> }
  | { once: 'at-most-once'; find?: never };

/** What a network takes in one post, or in one item of a thread. */
export interface Limits {
  /** Greatest length, counted in `unit`. */
  text: number;
  unit: TextUnit;
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
  /** Pictures and videos do not go together. */
  oneKind?: boolean;
  image?: FileLimits;
  video?: FileLimits;
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
  Once<F, S> &
  Publishing<F, S> & {
    login: Login<F>;
    /**
     * The fields of the app at the network (`clientApp`, and those of `App`). The operator sets them in the environment
     * (`NETWORK_APPS`), an organization in its settings, which win (DE42). `appOneOf`: as `oneOf` of `Setup`.
     */
    app?: Fields & { readonly [K in keyof App]?: Field };
    appOneOf?: Setup['oneOf'];
    limits: Limits;
    /** Schema of the settings of a post; unknown keys are kept and ignored (T6). */
    settings: S;
    /** Milliseconds after the request before a missing post counts as absent. Default: `timeoutMs` + 10 s. */
    settlesWithinMs?: number;
    editor?: 'normal' | 'markdown' | 'html';
    toolTip?: string;
    isWeb3?: boolean;
    profile(call: Connection<F>): Promise<Profile>;
    remove?: (call: Connection<F> & { published: Published }) => Promise<void>;
    /** Reads the limits of the channel's own server, where servers differ. */
    serverLimits?: (call: Connection<F>) => Promise<Limits>;
  };

/** A connected channel. Each operation may throw `ProviderError`. */
export interface Social {
  profile(): Promise<Profile>;
  prepare?(post: Post, settings: unknown, handle: Handle): Promise<Prepared>;
  publish(post: Post, settings: unknown, handle: Handle): Promise<Published | Processing>;
  poll?(post: Post, settings: unknown, attempt: { saved: unknown }): Promise<Polled>;
  find?(post: Post, settings: unknown, attempt: LookUp): Promise<Published | readonly Published[] | undefined>;
  remove?(published: Published): Promise<void>;
  serverLimits?(): Promise<Limits>;
}
export interface Handle {
  saved: unknown;
  save: (handle: unknown) => Promise<void>;
  thread: readonly Published[];
}

export type SocialAdapter<F extends Fields = Fields, S extends z.ZodType = z.ZodType> = SocialSpec<F, S> &
  Adapter<'social', SocialFacts, SocialLine<F>, F> & { connect(connection: Connection<F>): Social };

const OPTIONAL = ['prepare', 'poll', 'find', 'remove', 'serverLimits'] as const;
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
      ...(spec.app && { app: Object.entries(spec.app).map(appFieldOf) }),
    },
    ...(spec.app && {
      setup: { fields: spec.app, owners: ['org'] as const, ...(spec.appOneOf && { oneOf: spec.appOneOf }) },
    }),
    capabilities: ['publish', ...OPTIONAL.filter((name) => spec[name])],
    connect(connection) {
      const settled = (post: Post, settings: unknown) => ({
        ...connection,
        post,
        settings: spec.settings.parse(settings),
      });
      const { prepare, poll, find, remove, serverLimits } = spec;
      return {
        profile: () => spec.profile(connection),
        ...(prepare && {
          prepare: (post: Post, settings: unknown, handle: Handle) =>
            prepare({ ...settled(post, settings), ...handle }),
        }),
        publish: (post, settings, handle) => spec.publish({ ...settled(post, settings), ...handle }),
        ...(poll && {
          poll: (post: Post, settings: unknown, { saved }: { saved: unknown }) =>
            poll({ ...settled(post, settings), saved }),
        }),
        ...(find && {
          find: (post: Post, settings: unknown, attempt: LookUp) => find({ ...settled(post, settings), ...attempt }),
        }),
        ...(remove && { remove: (published: Published) => remove({ ...connection, published }) }),
        ...(serverLimits && { serverLimits: () => serverLimits(connection) }),
      };
    },
  };
  return adapter as unknown as SocialAdapter; // the registry checks values against the fields, `settled` the settings
};
