import type { z } from 'zod';
import type { Clock } from '../../platform/kernel/index.ts';
import type { Adapter, Manifest } from '../kit/declare/adapter.ts';
import type { Fields, ValuesOf } from '../kit/declare/fields.ts';
import type { Line } from '../kit/declare/line.ts';
import type { Http } from '../kit/wire/http.ts';
import type { Media } from '../kit/declare/media.ts';
export type { Media } from '../kit/declare/media.ts';

/** What is published: plain text made from the stored HTML, with its media in order. `id` is ours and stable over attempts. */
export interface Post {
  id: string;
  text: string;
  media: readonly Media[];
}
/** `saved`: what a reply to it will need (bluesky: uri and cid). */
export interface Published {
  id: string;
  url: string;
  saved?: unknown;
}
/** `id` is unique over all servers of a network: a channel is one account (S246). */
export interface Profile {
  id: string;
  name: string;
  handle: string;
  picture?: string;
  server?: string;
}

/**
 * Tokens as they are kept, sealed. `expiresAt` is unset where they do not expire. `values` take the place of typed
 * fields from then on (bluesky: the server that really holds the account).
 */
export interface Tokens {
  accessToken: string;
  refreshToken?: string;
  expiresAt?: Date;
  values?: Readonly<Record<string, string>>;
}

/** An app's own credentials at a network, or at one server of it. */
export interface App {
  clientId: string;
  clientSecret: string;
}

/** An attempt as a look-up knows it: what it saved, its thread (as in `publish`), and the earliest time of its request, clock differences allowed for. */
export interface LookUp {
  since: Date;
  saved: unknown;
  thread: readonly Published[];
}

/** How a person connects a channel: by consent at the network, or by fields typed in here. */
export type Login<F extends Fields = Fields> =
  | {
      kind: 'oauth2';
      authorize: string;
      token: string;
      scopes: readonly string[];
      pkce?: boolean;
      /** The network has many servers: the person names one, and an app is registered there. */
      registerApp?: (call: { http: Http; redirectUri: string; scopes: readonly string[]; appName: string }) => Promise<App>;
    }
  | {
      kind: 'credentials';
      /** Turns the typed fields into tokens; absent where the fields are used as they are. */
      signIn?: (call: { http: Http; values: ValuesOf<F>; clock: Clock }) => Promise<Tokens>;
      /** Renews them; a refusal is `reauthorize`. `http` carries no token by itself; its base follows `tokens.values`, `values` are as typed. */
      refresh?: (call: { http: Http; values: ValuesOf<F>; tokens: Tokens; clock: Clock }) => Promise<Tokens>;
    };

export type SocialLine<F extends Fields = Fields> = Line<'http' | 'sockets', F>;
/** The line of a connected channel. */
export type Connection<F extends Fields = Fields> = SocialLine<F> & {
  /** The connected account at the network (`Profile.id`). */
  account: string;
  /** Its access token, where there is one. */
  token: string | undefined;
};
export interface SocialFacts {
  login: Login['kind'];
  once: Once<Fields, z.ZodType>['once'];
  limits: Limits;
}

type PostCall<F extends Fields, S extends z.ZodType> = Connection<F> & {
  post: Post;
  settings: z.output<S>;
};
type Attempt<F extends Fields, S extends z.ZodType> = PostCall<F, S> & {
  /** What an earlier attempt saved; `save` is durable before it ends, and comes before the step that cannot be taken back. */
  saved: unknown;
  save: (handle: unknown) => Promise<void>;
  /** The items of the thread that are out already, when this is a reply: root first, the one before it last. */
  thread: readonly Published[];
};
/**
 * Looks for a post whose answer was lost. One that the network knows by our key or id is answered alone; a list holds
 * every post since then that only looks like it (same text, parent and media), whoever made it. Fails where it cannot tell.
 */
type Find<F extends Fields, S extends z.ZodType> = (call: PostCall<F, S> & LookUp) => Promise<Published | readonly Published[] | undefined>;

/** Why this network cannot be made to post twice. Every class but the last can answer: is it there? */
type Once<F extends Fields, S extends z.ZodType> =
  | { once: 'key' | 'two-phase' | 'own-id' | 'read-back'; find: Find<F, S> }
  | { once: 'at-most-once'; find?: never };

export interface Limits {
  /** Greatest length, counted in `unit`. */
  text: number;
  unit: 'graphemes' | 'characters' | 'bytes';
  /** A second ceiling, in UTF-8 bytes. */
  textBytes?: number;
  /** Every link counts as this many. */
  linkLength?: number;
  media: number;
  needsMedia?: boolean;
  mediaTypes: readonly string[];
  imageBytes?: number;
  /** Greatest size of a video, where it is the same at every server. */
  videoBytes?: number;
}

/** Required methods first; an optional method that is present *is* the capability. */
export type SocialSpec<F extends Fields, S extends z.ZodType> = Manifest<F> &
  Once<F, S> & {
    login: Login<F>;
    limits: Limits;
    /** Of a post; unknown keys are kept and ignored (T6). */
    settings: S;
    /** After a lost answer `absent` counts only when this long has passed since the request left. Default: `timeoutMs` + 10 s. */
    settlesWithinMs?: number;
    editor?: 'normal' | 'markdown' | 'html';
    toolTip?: string;
    isWeb3?: boolean;
    profile(call: Connection<F>): Promise<Profile>;
    publish(call: Attempt<F, S>): Promise<Published>;
    remove?: (call: Connection<F> & { published: Published }) => Promise<void>;
    /** The limits that this channel's own server has, where servers differ. */
    serverLimits?: (call: Connection<F>) => Promise<Limits>;
  };

/** A connected channel, as the rooms see it. Each may throw `ProviderError`. */
export interface Social {
  profile(): Promise<Profile>;
  publish(post: Post, settings: unknown, handle: Handle): Promise<Published>;
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

/** Declares a social adapter. What the registry holds is the same for all: the types of its own fields and settings end here. */
export const social = <const F extends Fields, S extends z.ZodType>(spec: SocialSpec<F, S>): SocialAdapter => {
  const adapter: SocialAdapter<F, S> = {
    ...spec,
    domain: 'social',
    facts: { login: spec.login.kind, once: spec.once, limits: spec.limits },
    capabilities: ['publish', ...(['find', 'remove', 'serverLimits'] as const).filter((name) => spec[name])],
    connect(connection) {
      const settled = (post: Post, settings: unknown) => ({ ...connection, post, settings: spec.settings.parse(settings) });
      const { find, remove, serverLimits } = spec;
      return {
        profile: () => spec.profile(connection),
        publish: (post, settings, handle) => spec.publish({ ...settled(post, settings), ...handle }),
        ...(find && { find: (post: Post, settings: unknown, attempt: LookUp) => find({ ...settled(post, settings), ...attempt }) }),
        ...(remove && { remove: (published: Published) => remove({ ...connection, published }) }),
        ...(serverLimits && { serverLimits: () => serverLimits(connection) }),
      };
    },
  };
  return adapter as unknown as SocialAdapter; // values are checked against the fields, settings by their schema, before they come here
};
