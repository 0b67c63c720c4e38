import { type AuditActor, writeAudit } from '../../platform/audit/index.ts';
import type { Database, Sql } from '../../platform/db/index.ts';
import { AppError, type Clock, invalidField, isId, notFound, ProviderError } from '../../platform/kernel/index.ts';
import type { EgressRoute } from '../../platform/outbound/index.ts';
import type { Place, Providers } from '../../providers/registry/index.ts';
import type { ProviderSettings } from '../../providers/settings/index.ts';
import type { Events } from '../../platform/telemetry/index.ts';
import { broken, type RouteChoice, choiceText } from './rules.ts';
import * as store from './store.ts';
import type { ChannelChoice, Checked, RouteRow } from './store.ts';

const STALE_MS = 10 * 60_000;
const AT_A_TIME = 50;
/** No further ones are asked after so long, as other sweeps wait: routes that hang take as long again. */
const RUN_MS = 20_000;

/**
 * The routes that calls to networks take. A route that is chosen and cannot be used stops what goes over it: the open
 * route is never taken instead.
 */
export interface Egress {
  /** Opens the route that a channel or an org chose. Throws `ProviderError` `unavailable` where it cannot be used. */
  open(orgId: string, settingId: string): Promise<EgressRoute>;
  /** Of a channel, or of the org for what has no channel yet; undefined: the open route. */
  egressRouteOf(orgId: string, channelId?: string): Promise<EgressRoute | undefined>;

  overview(orgId: string): Promise<Overview>;
  /** For the channels of the org that chose nothing; 400 for what is no route of it. */
  choose(orgId: string, choice: RouteChoice, by: AuditActor): Promise<void>;
  chooseForChannel(orgId: string, channelId: string, choice: RouteChoice, by: AuditActor): Promise<void>;
  /** Asks where a route comes out, and keeps the answer. */
  check(orgId: string, settingId: string): Promise<RouteRow>;
  /** The servers that the provider of a route lists; empty where it lists none. */
  places(orgId: string, settingId: string): Promise<readonly Place[]>;
  /**
   * Checks at most `limit` routes that are in use and were not looked at lately, each on its own, some at a time;
   * answers how many. Throws, when those are done, what one of them threw.
   */
  checkDue(limit: number): Promise<number>;
}
export interface Overview {
  /** As its own choice is written. */
  route: string;
  routes: readonly RouteRow[];
  channels: readonly ChannelChoice[];
}

interface Options {
  sql: Database;
  clock: Clock;
  providers: Pick<Providers, 'routes'>;
  settings: Pick<ProviderSettings, 'pinned'>;
  /** Told of routes that end to work, and work again. */
  events?: Pick<Events, 'routeDown' | 'routeUp'> | undefined;
}

const missing = () => notFound('Route not found');

/** Checks some at a time until no more are due, or the time is over; answers how many. */
async function inRounds(
  clock: Pick<Clock, 'monotonic'>,
  limit: number,
  checkSome: (most: number) => Promise<number>,
): Promise<number> {
  const since = clock.monotonic();
  for (let done = 0; ;) {
    const most = Math.min(limit - done, AT_A_TIME);
    const count = await checkSome(most);
    done += count;
    if (count < most || done === limit || clock.monotonic() - since > RUN_MS) return done;
  }
}

/** A route of the body that is none is told by the name of its field. */
async function held(tx: Sql, orgId: string, choice: RouteChoice): Promise<void> {
  if (choice.kind !== 'route') return;
  if (!isId(choice.settingId) || !(await store.holdRoute(tx, orgId, choice.settingId)))
    throw invalidField('route', 'must be the id of a route, or one of the words for none', 'unknown_id');
}

export function openEgress({ sql, clock, providers, settings, events }: Options): Egress {
  const pinned = ({ owner, id }: RouteRow) => settings.pinned(owner, 'vpn', id);

  async function open(orgId: string, settingId: string): Promise<EgressRoute> {
    const row = isId(settingId) ? await store.routeOf(sql, orgId, settingId) : undefined;
    if (!row) throw broken(undefined, 'The chosen route is not there any more: choose another one, or the open route');
    if (!row.enabled) throw broken(row.name, 'it is disabled');
    try {
      const { adapter, values } = await pinned(row);
      return await providers.routes.openRoute(adapter, { orgId: row.owner, values }, row.name);
    } catch (cause) {
      if (cause instanceof AppError) throw broken(row.name, cause.message, cause);
      throw cause;
    }
  }
  const opened = (orgId: string, settingId: string | null | undefined) =>
    settingId ? open(orgId, settingId) : Promise.resolve(undefined);

  async function routeOf(orgId: string, id: string): Promise<RouteRow> {
    const row = isId(id) ? await store.routeOf(sql, orgId, id) : undefined;
    if (!row) throw missing();
    return row;
  }

  async function look(orgId: string, settingId: string): Promise<Checked> {
    const started = clock.monotonic();
    const found = (ok: boolean, message: string, exitAddress: string | null): Checked => ({
      ok,
      message,
      exitAddress,
      latencyMs: Math.round(clock.monotonic() - started),
    });
    try {
      const exit = await providers.routes.exitOf(await open(orgId, settingId));
      return found(true, `Comes out at ${exit}`, exit);
    } catch (error) {
      if (error instanceof ProviderError) return found(false, error.message, null);
      throw error;
    }
  }
  async function check(orgId: string, settingId: string): Promise<void> {
    const checked = await look(orgId, settingId);
    const before = await store.saveCheck(sql, orgId, settingId, checked);
    if (!checked.ok && before !== false) events?.routeDown({ orgId, settingId, reason: checked.message });
    if (checked.ok && before === false) events?.routeUp({ orgId, settingId });
  }

  const chosen = (choice: RouteChoice) => ({
    route: choiceText(choice.kind, choice.kind === 'route' ? choice.settingId : null),
  });

  return {
    open,
    async egressRouteOf(orgId, channelId) {
      const own = channelId === undefined ? undefined : await store.routeIdOfChannel(sql, orgId, channelId);
      return opened(orgId, own === undefined ? await store.routeIdOfOrg(sql, orgId) : own);
    },

    async overview(orgId) {
      const [settingId, routes, channels] = await Promise.all([
        store.routeIdOfOrg(sql, orgId),
        store.routesOf(sql, orgId),
        store.choicesOf(sql, orgId),
      ]);
      return { route: settingId ?? 'open', routes, channels };
    },

    choose: (orgId, choice, by) =>
      sql.begin(async (tx) => {
        if (choice.kind === 'org') throw invalidField('route', 'must be the id of a route, or open', 'invalid_value');
        await store.lockOrg(tx, orgId);
        await held(tx, orgId, choice);
        await store.chooseForOrg(tx, orgId, choice.kind === 'route' ? choice.settingId : null);
        await writeAudit(tx, by, {
          orgId,
          action: 'organization.route_chosen',
          resource: 'settings',
          resourceId: orgId,
          detail: chosen(choice),
        });
      }) as Promise<void>,

    chooseForChannel: (orgId, channelId, choice, by) =>
      sql.begin(async (tx) => {
        if (!isId(channelId)) throw notFound('Integration not found');
        await held(tx, orgId, choice);
        if (!(await store.chooseForChannel(tx, orgId, channelId, choice))) throw notFound('Integration not found');
        await writeAudit(tx, by, {
          orgId,
          action: 'channel.route_chosen',
          resource: 'channels',
          resourceId: channelId,
          detail: chosen(choice),
        });
      }) as Promise<void>,

    async check(orgId, settingId) {
      await routeOf(orgId, settingId);
      await check(orgId, settingId);
      return routeOf(orgId, settingId);
    },
    async places(orgId, settingId) {
      const row = await routeOf(orgId, settingId);
      const { adapter, values } = await pinned(row);
      return (await providers.routes.vpn(adapter, { orgId: row.owner, values }).places?.()) ?? [];
    },
    checkDue: (limit) =>
      inRounds(clock, limit, async (most) => {
        const due = await store.claimDueChecks(sql, STALE_MS, most);
        const checks = await Promise.allSettled(due.map(({ orgId, settingId }) => check(orgId, settingId)));
        for (const one of checks) if (one.status === 'rejected') throw one.reason;
        return due.length;
      }),
  };
}
