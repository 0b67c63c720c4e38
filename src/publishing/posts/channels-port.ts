import type {
  Limits,
  OnceClass,
  PostPlug,
  SettingValues,
  Social,
  SocialAdapter,
  ThreadLimits,
  WriteContent,
} from '../../providers/registry/index.ts';

// What publishing needs of channels and their networks, as of its other neighbours in `ports.ts`.

/** The row of a channel as the claim found it, so that nothing has to be read again. */
export interface ChannelSnapshot {
  id: string;
  orgId: string;
  providerId: string;
  providerVersion: string;
  /** The account's id at the network. */
  internalId: string;
  name: string;
  /** Sealed. */
  credentials: string;
  tokenExpiresAt: Date | null;
  /** The provider's own settings of this channel. */
  settings: Readonly<Record<string, unknown>>;
  /** The route that its calls take; null: the open route. */
  routeId: string | null;
}

/** So many posts in each window of so many milliseconds, counted under `key` (`pace` of an adapter). */
export interface Paced {
  key: string;
  per: 'account' | 'app';
  posts: number;
  ms: number;
  /** First items and reposts count, or what stands below or behind them; undefined: all that a channel makes. */
  of?: 'posts' | 'comments' | undefined;
}

/** A connected channel with a fresh token. */
export interface Connected {
  social: Social;
  once: SocialAdapter['once'];
  /** The means by which a comment and a repost are made once; undefined where the network has none. */
  commentOnce?: OnceClass | undefined;
  repostOnce?: OnceClass | undefined;
  /** Writes a content in the form of the network, with the addresses that `addresses` puts in the place of others. */
  write: WriteContent;
  /**
   * Provider, origin and route, such as `mastodon https://a.example`: what hangs there holds only the calls of this
   * lane.
   */
  lane: string;
  /** How long one call of the adapter may take, where it says so. */
  timeoutMs?: number | undefined;
  /** `absent` counts only when this long has passed since the request may have left, where the adapter says so. */
  settlesWithinMs?: number | undefined;
  /** How long the network may work on a post, where the adapter says so. */
  processesWithinMs?: number | undefined;
  /** The steps of a later item of a thread name the item before it, which has to be out. */
  preparesReplies?: boolean | undefined;
  /** What the network allows of posts, where the adapter says so; sorted, so that two never wait for each other. */
  paces: readonly Paced[];
}

/** What a network takes, for judging a post before it is stored. */
export interface NetworkRules extends ThreadLimits {
  title: string;
  write: WriteContent;
  /** Settings that name a file. */
  fileSettings?: readonly string[] | undefined;
  /** A post can be commented on by its channel. */
  hasComments: boolean;
  /** Posts that cannot be repeated. */
  repostsUnless?: readonly SettingValues[] | undefined;
  /** The plugs that a post can ask for. */
  postPlugs: readonly PostPlug[];
  /** What the network allows of posts, where the adapter says so. */
  pace: NonNullable<SocialAdapter['pace']>;
  checkSettings(settings: unknown, at: string): void;
}

/** What is known of the login of a channel without asking its network. */
export interface LoginFacts {
  channelId: string;
  /** When a person has to log in again; null where a program renews the login, or it does not end. */
  endsAt: Date | null;
  paces: readonly Paced[];
}

export interface ChannelsPort {
  /** Whether posts of this network can be commented on by their channel; false for one that is not registered. */
  hasComments(providerId: string, providerVersion: string): boolean;
  /**
   * The networks that posts are prepared at before they are published, each as `id@version`; `behind`: those of them
   * that need no item of a thread to be out for the steps of the next one. `fileSettings`: the settings of any network
   * that name a file.
   */
  preparing(): {
    networks: readonly string[];
    behind: readonly string[];
    fileSettings: readonly { network: string; setting: string }[];
  };
  /**
   * Opens the channel; its token is renewed first where it has to be, one renewal at a time. Throws `ProviderError`:
   * `reauthorize` when a person must log in, `unavailable` when it may be tried again. Nothing is sent over the
   * connection once `ended` is aborted.
   */
  connect(orgId: string, channelId: string, snapshot: ChannelSnapshot, ended?: AbortSignal): Promise<Connected>;
  /**
   * What a network takes, or a `server` of it. Throws `AppError` for a provider or version that is not registered or
   * retired.
   */
  rules(providerId: string, providerVersion: string, server?: Partial<Limits> | null): NetworkRules;
  /** Reads the logins of channels, in one statement. */
  loginFacts(orgId: string, channelIds: readonly string[]): Promise<LoginFacts[]>;
}
