import { invalidField, newId, notFound, pageOf, type RowPage } from '../../platform/kernel/index.ts';
import { keepAnswer, type KeptAnswer } from '../../platform/db/index.ts';
import { OutboundError } from '../../platform/outbound/index.ts';
import { PLANS } from '../../entitlements/index.ts';
import { channelToAsk, type CompetitorsDeps, watchedAlready, watchedNetwork } from './deps.ts';
import { shownDays } from './rules.ts';
import * as store from './store.ts';

// Competitors as people see them. Reading them asks no network.

const unknownCompetitor = () => notFound('Competitor not found');

export async function listCompetitors(
  { sql }: CompetitorsDeps,
  orgId: string,
  page: { limit: number; cursor?: string | undefined },
): Promise<RowPage<store.CompetitorRow>> {
  return pageOf(await store.selectCompetitors(sql, orgId, page), page.limit);
}

/** Throws `not_found`. */
export async function getCompetitor({ sql }: CompetitorsDeps, orgId: string, id: string): Promise<store.CompetitorRow> {
  const row = await store.findCompetitor(sql, orgId, id);
  if (!row) throw unknownCompetitor();
  return row;
}

/**
 * Watches an account, which the next sweep reads for the first time.
 * @throws AppError 400 for a network or a handle that cannot be read, `limit_exceeded`, `conflict` where it is watched
 */
export async function watchCompetitor(
  deps: CompetitorsDeps,
  orgId: string,
  wish: { providerIdentifier: string; handle: string; name?: string | null | undefined; createdBy: string },
  kept?: KeptAnswer<store.CompetitorRow>,
): Promise<store.CompetitorRow> {
  const { sql, billing } = deps;
  const watched = watchedNetwork(deps, wish.providerIdentifier);
  const { adapter, look } = watched;
  const read = look.read(wish.handle);
  if (!read) throw invalidField('handle', `must be one of ${adapter.title}, such as ${look.example}`, 'invalid_format');
  judgeServers(deps, Object.values(read.values));
  await channelToAsk(deps, orgId, watched);
  return sql.begin(async (tx) => {
    await billing.lockOrg(tx, orgId);
    await billing.admit(tx, orgId, 'competitors');
    const { handle } = read;
    const row = await store.insertCompetitor(tx, orgId, {
      id: newId(),
      providerId: adapter.id,
      handle,
      name: wish.name ?? null,
      createdBy: wish.createdBy,
    });
    if (!row) throw watchedAlready();
    await keepAnswer(tx, kept, row);
    return row;
  });
}

/** A server that a handle names is asked by nobody if it is none of the public internet. */
function judgeServers({ outbound }: Pick<CompetitorsDeps, 'outbound'>, addresses: readonly string[]): void {
  for (const address of addresses)
    try {
      outbound.judge(address);
    } catch (error) {
      if (!(error instanceof OutboundError)) throw error;
      throw error.ofField('handle');
    }
}

interface CompetitorChange {
  providerIdentifier?: string | undefined;
  handle?: string | undefined;
  name?: string | null | undefined;
}

/**
 * Gives a competitor a name; null: the one that its network tells.
 * @throws AppError `not_found`, 400 for another account than the one that is watched
 */
export async function changeCompetitor(
  deps: CompetitorsDeps,
  orgId: string,
  id: string,
  { name, ...account }: CompetitorChange,
): Promise<store.CompetitorRow> {
  const found = await getCompetitor(deps, orgId, id);
  checkSame(deps, found, account);
  if (name === undefined) return found;
  const row = await store.renameCompetitor(deps.sql, orgId, id, name);
  if (!row) throw unknownCompetitor();
  return row;
}

/** What is watched stays the same account, however its handle is written. */
function checkSame(
  deps: Pick<CompetitorsDeps, 'providers'>,
  row: Pick<store.CompetitorRow, 'providerId' | 'handle'>,
  { providerIdentifier = row.providerId, handle = row.handle }: Omit<CompetitorChange, 'name'>,
): void {
  const stays = 'stays as it is: watch the other account instead';
  if (providerIdentifier !== row.providerId) throw invalidField('providerIdentifier', stays, 'immutable');
  if (handle !== row.handle && watchedNetwork(deps, row.providerId).look.read(handle)?.handle !== row.handle)
    throw invalidField('handle', stays, 'immutable');
}

/** Throws `not_found`. */
export async function removeCompetitor({ sql }: CompetitorsDeps, orgId: string, id: string): Promise<void> {
  if (!(await store.deleteCompetitor(sql, orgId, id))) throw unknownCompetitor();
}

/** What was told of a competitor by day, as far back as the plan shows. Throws `not_found`. */
export async function getCompetitorHistory(
  deps: CompetitorsDeps,
  orgId: string,
  id: string,
  range: { from?: string | undefined; to?: string | undefined },
): Promise<store.CompetitorDay[]> {
  if (range.from !== undefined && range.to !== undefined && range.to < range.from)
    throw invalidField('to', 'is before from', 'date');
  await getCompetitor(deps, orgId, id);
  const { tier } = await deps.billing.shown(orgId);
  const days = shownDays(range, deps.clock.now(), PLANS[tier].analyticsRetentionDays);
  return store.selectDays(deps.sql, orgId, id, days);
}
