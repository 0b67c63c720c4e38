import { PLANS, TIERS } from '../../entitlements/index.ts';
import { outsideLine, outsideText } from '../../platform/content/index.ts';
import { atMost } from '../../platform/flow/index.ts';
import { AppError, ProviderError } from '../../platform/kernel/index.ts';
import type { PublicProfile, Social } from '../../providers/registry/index.ts';
import { channelToAsk, type CompetitorsDeps, watchedNetwork } from './deps.ts';
import { afterFailure, nextSlot, soundCounts, soundPicture } from './rules.ts';
import * as store from './store.ts';

/** Accounts that one round reads, side by side, and how long one of them may take. */
const AT_A_TIME = 10;
const ANSWER_MS = 20_000;
/** Characters of a name and of a failure that are kept. */
const MOST_WORDS = 300;

/** Reads accounts that are due; answers how many were looked at. */
export async function readCompetitors(deps: CompetitorsDeps, limit: number): Promise<number> {
  const most = Math.min(limit, AT_A_TIME);
  const due = await store.claimDueCompetitors(deps.sql, most);
  await Promise.all(due.map((one) => readOne(deps, one)));
  return due.length < most ? due.length : limit;
}

async function readOne(deps: CompetitorsDeps, due: store.DueCompetitor): Promise<void> {
  const { sql, log } = deps;
  const at = nextSlot(due.orgId, due.now);
  try {
    if (!due.active) return void (await store.postponeReading(sql, due, { at, attempts: 0, error: null }));
    const found = await askNetwork(deps, due);
    if (!found) {
      const error = 'The network has nobody of this handle';
      return void (await store.postponeReading(sql, due, { at, attempts: 0, error }));
    }
    const { name, picture, counts } = found;
    await store.insertCompetitorDay(sql, due, {
      name: outsideLine(name, MOST_WORDS) || null,
      picture: soundPicture(picture),
      metrics: soundCounts(counts),
      at,
    });
  } catch (error) {
    if (!(error instanceof AppError)) log.warn({ err: error, competitorId: due.id }, 'a competitor could not be read');
    const waitMs = error instanceof ProviderError ? error.retryAfterMs : undefined;
    const message = error instanceof AppError ? error.message : 'It could not be read';
    await store
      .postponeReading(sql, due, { ...afterFailure(due, waitMs), error: outsideText(message, MOST_WORDS) })
      .catch((cause: unknown) =>
        log.warn({ err: cause, competitorId: due.id }, 'a reading is repeated in ten minutes'),
      );
  }
}

/** The account as its network shows it now; undefined: there is nobody of this handle. */
async function askNetwork(deps: CompetitorsDeps, due: store.DueCompetitor): Promise<PublicProfile | undefined> {
  const { orgId, providerId, handle } = due;
  const watched = watchedNetwork(deps, providerId);
  const { adapter, look } = watched;
  const read = look.read(handle);
  if (!read) return undefined;
  const channelId = await channelToAsk(deps, orgId, watched);
  const answers: (PublicProfile | undefined)[] = [];
  const isOver = await atMost(deps.clock, ANSWER_MS, async (over) => {
    const social: Social =
      channelId === undefined
        ? deps.providers.connect(adapter, {
            values: read.values,
            account: '',
            egressRoute: await deps.egress.egressRouteOf(orgId),
            ended: over,
          })
        : (await deps.channels.connect(orgId, channelId, undefined, over)).social;
    if (!social.publicProfile) throw new ProviderError('unsupported', `${adapter.title} shows no accounts`);
    answers.push(await social.publicProfile(read.handle));
  });
  if (!isOver) throw new ProviderError('unavailable', `${adapter.title} did not answer in time`);
  return answers[0];
}

/** No plan shows more days. */
const MOST_DAYS = Math.max(...TIERS.map((tier) => PLANS[tier].analyticsRetentionDays));
/** Forgets snapshots that no plan shows any more; answers how many. */
export const dropOldCompetitorDays = ({ sql }: CompetitorsDeps, limit: number): Promise<number> =>
  store.deleteOldDays(sql, MOST_DAYS, limit);
