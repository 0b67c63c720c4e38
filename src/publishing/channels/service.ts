import type { AuditActor } from '../../platform/audit/index.ts';
import type { Billing } from '../../entitlements/index.ts';
import type { Database } from '../../platform/db/index.ts';
import type { Egress } from '../egress/index.ts';
import { atMost } from '../../platform/flow/index.ts';
import { AppError, type Clock, invalidField, isId, newId, notFound, type Vault } from '../../platform/kernel/index.ts';
import type { Outbound } from '../../platform/outbound/index.ts';
import { checkSettings, type Limits, type Providers, type SocialAdapter } from '../../providers/registry/index.ts';
import type { Events } from '../../platform/telemetry/index.ts';
import {
  type Connected,
  type NeedsLogin,
  type NetworkRules,
  openConnections,
  signsIn,
  type Snapshot,
} from './connection.ts';
import { type Begin, type Complete, type Completed, openLogins, type ChannelConnector, type Person } from './login.ts';
import { dropOldStates } from './logins.ts';
import * as moves from './transitions.ts';
import * as serverLimits from './server-limits.ts';
import { limitsOf, type ServerLimits } from './server-limits.ts';
import { daysLeft, readAdditional } from './rules.ts';
import * as store from './store.ts';
import type { ChannelRow, CustomerRow } from './store.ts';

export interface ChannelsOptions {
  sql: Database;
  clock: Clock;
  vault: Vault;
  providers: Providers;
  outbound: Pick<Outbound, 'judge'>;
  billing: Pick<Billing, 'lockOrg' | 'admit'>;
  /** The routes that calls to networks take. */
  egress: Pick<Egress, 'open' | 'egressRouteOf'>;
  frontendUrl: string;
  /** INTEGRATION_RETURN_URL_ALLOWLIST */
  returnUrlAllowlist: readonly string[];
  /** Told of channels that are connected or lost. */
  events?: Pick<Events, 'channelConnected' | 'channelNeedsLogin'> | undefined;
}

/** A channel with what is only known beside its row. */
export interface ChannelView extends ChannelRow {
  /** Undefined where its version is no longer registered. */
  adapter: SocialAdapter | undefined;
  /** Whole days; null for a token that does not expire. */
  tokenDaysLeft: number | null;
}
export interface PostingRules {
  adapter: SocialAdapter;
  /** Those of its server, where it has some. */
  limits: Limits;
}

export interface Channels {
  /** Networks that can be connected here (S128). */
  networks(): SocialAdapter[];
  /** The channels of an organization, of one group when given; an unknown group has none (S262). */
  list(orgId: string, group?: string): Promise<ChannelView[]>;
  /** One channel, or 404. */
  get(orgId: string, id: string): Promise<ChannelView>;
  /** The rows of those channels that are there, for whoever judges a post. */
  find(orgId: string, ids: readonly string[]): Promise<ChannelRow[]>;
  /** How to write for a channel (public `integration-settings`). */
  rulesOf(orgId: string, id: string): Promise<PostingRules>;
  /**
   * What a network takes, or a `server` of it. Throws `AppError` for a provider or version that is not registered or
   * retired.
   */
  rules(providerId: string, providerVersion: string, server?: ServerLimits | null): NetworkRules;

  /** The address of the consent page (S130). */
  begin(person: Person, providerId: string, options: Begin): Promise<{ url: string }>;
  /**
   * Connects a channel by code and state, or by typed fields; the same account is the same channel (S131, S132, S246).
   */
  complete(person: ChannelConnector, providerId: string, call: Complete): Promise<Completed>;
  /** Whether `begin` needs more than the network's name, or is not possible at all. */
  canBeginAlone(providerId: string): boolean;
  /**
   * A channel in use: its token is fresh, and renewed when the network refuses it. Throws `ProviderError`. Nothing is
   * sent any more once `ended` is aborted.
   */
  connect(orgId: string, channelId: string, snapshot?: Snapshot, ended?: AbortSignal): Promise<Connected>;

  // Moves of the Channel actor: each one conditional statement over the channel and the posts that wait in it; true
  // when it held, and then noted as `by`.
  enable(orgId: string, id: string, by?: AuditActor): Promise<boolean>;
  disable(orgId: string, id: string, by?: AuditActor): Promise<boolean>;
  remove(orgId: string, id: string, by?: AuditActor): Promise<boolean>;
  /** `seen`: the sealed login that was refused; a newer one is left alone. */
  needsLogin(orgId: string, id: string, reason: string, seen?: string): Promise<boolean>;

  /** Forgets at most `limit` logins that were begun and not ended in time; answers how many. */
  dropOldLogins(limit: number): Promise<number>;
  /** Asks servers again what they take; answers how many. */
  askServerLimits(limit: number): Promise<number>;

  customers(orgId: string): Promise<CustomerRow[]>;
  /** Puts a channel into the group of that name, made on first use. */
  nameCustomer(orgId: string, id: string, name: string): Promise<void>;
  /** Puts a channel into a group by id; null takes it out. */
  setCustomer(orgId: string, id: string, customerId: string | null): Promise<void>;
  /** Minutes after midnight in the org's zone (S138). */
  setTimes(orgId: string, id: string, minutes: readonly number[]): Promise<void>;
  /** The provider's own settings of the channel, as JSON text (S140). */
  setAdditional(orgId: string, id: string, text: string): Promise<void>;
  setShown(orgId: string, id: string, shown: { name: string; picture: string | null }): Promise<void>;
}

/** For what a server says of itself: a person waits for it who connects a channel, and other servers do. */
const SERVER_PATIENCE_MS = 5_000;
const SERVERS_AT_A_TIME = 50;
const missing = () => notFound('Integration not found');

/** The channels room. */
export function openChannels(options: ChannelsOptions): Channels {
  const { sql, clock, providers, events } = options;
  const needsLogin: NeedsLogin = async (orgId, channelId, reason, seen) => {
    const held = await moves.needsLogin(sql, orgId, channelId, reason, seen);
    if (held) events?.channelNeedsLogin({ orgId, channelId, reason });
    return held;
  };
  const connections = openConnections({ ...options, needsLogin });
  const logins = openLogins({ ...options, signsIn });

  const pinned = (row: Pick<ChannelRow, 'providerId' | 'providerVersion'>): SocialAdapter | undefined =>
    providers.list('social').find(({ id, version }) => id === row.providerId && version === row.providerVersion);
  const viewOf = (row: ChannelRow): ChannelView => ({
    ...row,
    adapter: pinned(row),
    tokenDaysLeft: daysLeft(row.tokenExpiresAt, clock.now()),
  });
  const usable = (adapter: SocialAdapter) =>
    adapter.login.kind === 'credentials' ||
    adapter.login.registerApp !== undefined ||
    providers.ownApp(adapter, {}) !== undefined;

  /** The version of each network that a new channel would get, previews included (S243). */
  function newest(): SocialAdapter[] {
    const ids = [...new Set(providers.list('social').map(({ id }) => id))];
    return ids.flatMap((id) => {
      try {
        const adapter = providers.resolve('social', id, { allowPreview: true });
        return usable(adapter) ? [adapter] : [];
      } catch (error) {
        if (error instanceof AppError) return []; // only retired or deprecated versions
        throw error;
      }
    });
  }

  async function rowOf(orgId: string, id: string): Promise<ChannelRow> {
    const [found] = isId(id) ? await store.channelsById(sql, orgId, [id]) : [];
    if (!found) throw missing();
    return found;
  }
  const withLimits = (): string[] => [
    ...new Set(providers.list('social').flatMap((adapter) => (adapter.serverLimits ? [adapter.id] : []))),
  ];
  /** Asks a server what it takes, and keeps it. One that cannot say it in time is asked again by the sweep. */
  async function askLimits(channel: serverLimits.ChannelKey): Promise<void> {
    const asked = async () => {
      const { social } = await connections.connect(channel.orgId, channel.id);
      const limits = await social.serverLimits?.();
      if (limits) await serverLimits.keep(sql, channel, serverLimits.bounded(limits));
    };
    await atMost(clock, SERVER_PATIENCE_MS, () => asked().catch(() => undefined));
  }
  async function update(orgId: string, id: string, details: store.Details): Promise<void> {
    if (!isId(id) || !(await store.updateDetails(sql, orgId, id, details))) throw missing();
  }
  async function group(orgId: string, id: string, customerId: string | null): Promise<void> {
    const result =
      isId(id) && (customerId === null || isId(customerId))
        ? await store.setCustomer(sql, orgId, id, customerId)
        : isId(id)
          ? 'unknown_group'
          : 'missing';
    if (result === 'missing') throw missing();
    if (result === 'unknown_group') throw invalidField('group', 'group: there is no such group', 'unknown_id');
  }

  return {
    networks: () => newest().toSorted((a, b) => a.title.localeCompare(b.title, 'en')),
    list: async (orgId, customerId) =>
      customerId !== undefined && !isId(customerId)
        ? []
        : (await store.channelsOfOrg(sql, orgId, customerId)).map(viewOf),
    get: async (orgId, id) => viewOf(await rowOf(orgId, id)),
    find: (orgId, ids) => store.channelsById(sql, orgId, ids.filter(isId)),
    async rulesOf(orgId, id) {
      const channel = await rowOf(orgId, id);
      const adapter = providers.resolve('social', channel.providerId, {
        version: channel.providerVersion,
        use: 'pinned',
      });
      return { adapter, limits: limitsOf(adapter.limits, channel.serverLimits) };
    },
    rules(providerId, providerVersion, server = null) {
      const adapter = providers.resolve('social', providerId, { version: providerVersion, use: 'pinned' });
      return {
        title: adapter.title,
        limits: limitsOf(adapter.limits, server),
        checkSettings: (settings, at) => checkSettings(adapter, settings, at),
      };
    },

    begin: (person, providerId, more) => logins.begin(person, providerId, more),
    async complete(person, providerId, call) {
      const completed = await logins.complete(person, providerId, call);
      if (withLimits().includes(providerId)) await askLimits({ orgId: person.orgId, id: completed.id });
      events?.channelConnected({
        orgId: person.orgId,
        channelId: completed.id,
        provider: providerId,
        again: !completed.created,
      });
      return completed;
    },
    canBeginAlone: (providerId) =>
      newest().some(({ id, login }) => id === providerId && login.kind === 'oauth2' && !login.registerApp),
    connect: connections.connect,

    enable: (orgId, id, by) => moves.enable(sql, options.billing, orgId, id, by),
    disable: (orgId, id, by) => moves.disable(sql, orgId, id, by),
    remove: (orgId, id, by) => moves.remove(sql, orgId, id, by),
    needsLogin,

    dropOldLogins: (limit) => dropOldStates(sql, limit),
    async askServerLimits(limit) {
      const due = await serverLimits.takeDue(sql, withLimits(), Math.min(limit, SERVERS_AT_A_TIME));
      await Promise.all(due.map(askLimits));
      return due.length;
    },

    customers: (orgId) => store.customersOfOrg(sql, orgId),
    async nameCustomer(orgId, id, name) {
      await rowOf(orgId, id);
      await group(orgId, id, await store.ensureCustomer(sql, orgId, newId(), name));
    },
    setCustomer: group,
    setTimes: (orgId, id, minutes) =>
      update(orgId, id, { postingTimes: [...new Set(minutes)].toSorted((a, b) => a - b) }),
    async setAdditional(orgId, id, text) {
      const channel = await rowOf(orgId, id);
      const settings = readAdditional(text);
      const adapter = pinned(channel);
      if (adapter) checkSettings(adapter, settings, 'additionalSettings');
      await update(orgId, id, { additional: { text, settings } });
    },
    setShown: (orgId, id, shown) => update(orgId, id, { shown }),
  };
}
