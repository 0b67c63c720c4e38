import type { z } from 'zod';
import type { Manifest, Setup } from '../kit/declare/adapter.ts';
import type { Field, Fields } from '../kit/declare/fields.ts';
import type { Line } from '../kit/declare/line.ts';
import type { App, Tokens } from '../kit/protocols/oauth.ts';
import type { Limits, Pace, ReleaseIds, SettingValues, TextForm, Threads } from './_bounds.ts';
import type { Login } from './_login.ts';
import type { Plug } from './_plugs.ts';
import type {
  AsTold,
  Chosen,
  CommentRead,
  CommentsTold,
  Counts,
  Handle,
  Held,
  LookUp,
  Mention,
  NewComment,
  Page,
  Polled,
  Post,
  Prepared,
  Processing,
  Profile,
  Published,
  PublicProfile,
  ReadHandle,
  Repost,
  Series,
  Step,
} from './_values.ts';

export type SocialLine<F extends Fields = Fields> = Line<'http' | 'pages' | 'sockets', F>;
/** The line of a connected channel. */
export type Connection<F extends Fields = Fields> = SocialLine<F> & {
  /** The connected account at the network (`Profile.id`). */
  account: string;
  /** Its access token, where there is one. Calls of a login by OAuth 1.0a are signed by `http`. */
  token: string | undefined;
  /** The app that it is connected by: of the organization, else of the operator; absent where none is declared. */
  app: App | undefined;
};
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
  prepare?: (call: PostCall<F, S> & Step) => Promise<Prepared>;
  /**
   * The same for the later items of a thread, where a step names the item before: it is made when that one is out.
   * Default: `prepare`, whose steps for all items of a thread are made ahead of its date.
   */
  prepareReply?: (call: Attempt<F, S>) => Promise<Prepared>;
} & (
  | { publish(call: Attempt<F, S>): Promise<Published | Held>; poll?: never; processesWithinMs?: never }
  | {
      publish(call: Attempt<F, S>): Promise<Published | Processing | Held>;
      /** Throws where the network cannot be asked now, which says nothing about the post. */
      poll(call: PostCall<F, S> & { saved: unknown }): Promise<Polled>;
      /** The longest time that the network works on a post, in milliseconds. Default: a day. */
      processesWithinMs?: number;
    }
);

/** The means by which something is made once. Every class but the last can look for it. */
export type OnceClass = 'key' | 'two-phase' | 'own-id' | 'read-back' | 'at-most-once';
type Once<C> = { once: Exclude<OnceClass, 'at-most-once'>; find: Find<C> } | { once: 'at-most-once'; find?: never };
/** Where comments are not simply read. */
export interface CommentReads {
  /** Each read costs money or a scarce quota: none is made without a person asking for it. */
  scarce?: true;
  /**
   * `top`: all comments below a post, but not all answers to them. `some`: such as the newest. What is left out may be
   * there.
   */
  lists?: 'top' | 'some';
}
/** A further thing that a channel can make, once: a comment, a repost. The answer names what was made. */
type Making<C> = Once<C> & {
  send(call: C & Handle): Promise<Published | Held>;
  /** Posts that it cannot be made for, such as drafts: those whose settings have all values of one of these. */
  unless?: readonly SettingValues[];
};
type Commenting<F extends Fields> = Making<Connection<F> & NewComment> & {
  /** Comments can answer comments (`parent`). */
  replies?: true;
  /** What differs from the limits of a post. The types of posts are none of comments. */
  limits?: Partial<Omit<Limits, 'unit' | 'byType'>>;
};

/** The look-up of an account of anybody by its handle. */
export interface PublicProfiles<F extends Fields = Fields> {
  /** `anyone`: asked without a login. `channel`: with that of a connected channel, as the network answers no other. */
  by: 'anyone' | 'channel';
  /**
   * A field of the organization's settings of this provider that must say `true`, where the network charges for each
   * look-up.
   */
  optIn?: string;
  /** A handle as people write it. */
  example: string;
  /** Reads what a person typed; undefined for what cannot be a handle. */
  read: (typed: string) => ReadHandle | undefined;
  /** `handle` is as `read` answered it. Undefined: the network has nobody of that handle. */
  find: (
    call: Connection<F> & { handle: string },
  ) => Promise<(AsTold<Omit<PublicProfile, 'counts'>> & { counts: AsTold<Counts> }) | undefined>;
}

/**
 * A question to a network that the form of a post asks, such as its boards; changes nothing there. `data`: what the
 * form sends.
 */
export interface Tool<F extends Fields = Fields, D extends z.ZodType = z.ZodType> {
  description: string;
  data: D;
  call(call: Connection<F> & { data: z.output<D> }): Promise<unknown>;
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
    /** Default: `PLAIN_ID`. */
    releaseIds?: ReleaseIds;
    /** Milliseconds after the request before a missing post counts as absent. Default: `timeoutMs` + 10 s. */
    settlesWithinMs?: number;
    /** The editor that clients show. Default: `normal`, which is plain text. */
    editor?: 'normal' | 'markdown' | 'html';
    /** The form of `post.text`, where it is not that of the editor. */
    textForm?: TextForm;
    /** What looks like a tag would be cut out of a plain text: a space goes behind its `<`, and counts. */
    spacesTags?: true;
    isWeb3?: boolean;
    profile(call: Connection<F>): Promise<AsTold<Profile>>;
    /** A post that is gone already counts as removed. */
    remove?: (call: Connection<F> & { published: Published }) => Promise<void>;
    comment?: Commenting<F>;
    /** Repeats a post of another channel, or of this one. */
    repost?: Making<Connection<F> & { repost: Repost }>;
    /** Counts of posts as they are now; `metricsAtOnce`: number of posts in one call, default 1. */
    metrics?: (
      call: Connection<F> & { posts: readonly Published[] },
    ) => Promise<readonly { id: string; counts: AsTold<Counts> }[]>;
    metricsAtOnce?: number;
    /** Counts of the channel, of the days `from` to `to` (inclusive, UTC dates). */
    channelMetrics?: (call: Connection<F> & { from: string; to: string }) => Promise<readonly Series[]>;
    /** Comments below a post, a page at a time. */
    comments?: (call: Connection<F> & { published: Published; cursor?: string | undefined }) => Promise<CommentsTold>;
    /** What reading comments costs, and what is left out of them; absent: nothing. */
    commentReads?: CommentReads;
    /** Hides a comment from others, or shows it again. */
    hide?: (call: Connection<F> & { comment: Pick<CommentRead, 'id'>; hidden: boolean }) => Promise<void>;
    publicProfile?: PublicProfiles<F>;
    mentions?: (call: Connection<F> & { query: string }) => Promise<readonly AsTold<Mention>[]>;
    /**
     * Writes a mention into `post.text`, in its form and with its escapes. Both fields are as a client sent them:
     * undefined for an id that the network cannot have leaves what the mention shows. Default: that.
     */
    mention?: (mention: Pick<Mention, 'id' | 'label'>) => string | undefined;
    /** By the method names of the clients. */
    tools?: Readonly<Record<string, Tool<F>>>;
    /** Pages of the connected person, of which one is chosen before the channel can post. */
    pages?: (call: Connection<F>) => Promise<readonly AsTold<Page>[]>;
    /** Answers tokens whose `values` name the page, and which `profile` describes. */
    choose?: (call: Connection<F> & { page: string; tokens: Tokens }) => Promise<Chosen>;
    plugs?: readonly Plug[];
    /** Reads the limits of this channel, where servers or accounts differ. */
    channelLimits?: (call: Connection<F>) => Promise<Partial<Limits>>;
  };
/** A part of a declaration that stands in a file of its own, which the adapter spreads. */
export type Operations<S extends z.ZodType = z.ZodType, F extends Fields = Fields> = Partial<SocialSpec<F, S>>;
