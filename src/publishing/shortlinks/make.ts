import type { Database } from '../../platform/db/index.ts';
import { AppError, ProviderError } from '../../platform/kernel/index.ts';
import type { Providers, ShortLink } from '../../providers/registry/index.ts';
import type { Choice } from './choose.ts';
import { askAgainMs, isNoLonger, isShortAlready } from './rules.ts';
import type { Claimed } from './claim-store.ts';
import { markLong, markMade, noteAsked, putOff } from './outcome-store.ts';

export interface MakeNeeds {
  sql: Database;
  providers: Pick<Providers, 'shortener'>;
  choose: (orgId: string) => Promise<Choice | undefined>;
  log: { error(detail: object, message: string): void };
}

/** What a provider says is kept in rows: no U+0000, no half characters, not without end. */
const clean = (text: string): string => text.replaceAll('\0', '').toWellFormed().slice(0, 500);

/**
 * Asks for one link and writes what became of it. Only a provider that answers a repeat with the same link is asked a
 * second time after a lost answer.
 */
export const openMaking = ({ sql, providers, choose, log }: MakeNeeds) =>
  async function make(row: Claimed): Promise<void> {
    const choice = await choose(row.orgId);
    if (row.doubtful && !(choice?.adapter.repeatable && choice.adapter.id === row.doubtful.providerId))
      return void (await markLong(sql, row, 'nobody knows whether the provider has made a short link'));
    if (!choice)
      return void (await putOff(sql, row, {
        inMs: askAgainMs('unavailable', { attempt: row.attempt, repeatable: false })!,
        reason: 'no short link provider is set up',
      }));
    const { adapter, orgId, values } = choice;
    if (isShortAlready(row.url, adapter, values)) return void (await markLong(sql, row, null));
    if (!(await noteAsked(sql, row, adapter))) return;

    let made: ShortLink;
    try {
      made = await providers.shortener(adapter, { orgId, values }).shorten(new URL(row.url).href);
    } catch (error) {
      const known = error instanceof ProviderError ? error : undefined;
      if (!(error instanceof AppError))
        log.error(
          { err: error, provider: adapter.id },
          'an adapter threw an undeclared error, taken for a lost answer',
        );
      const reason = clean(known?.message ?? `${adapter.title} could not be asked`);
      const inMs = askAgainMs(known?.failure ?? 'lost', {
        attempt: row.attempt,
        repeatable: adapter.repeatable,
        retryAfterMs: known?.retryAfterMs,
      });
      return void (await (inMs === undefined ? markLong(sql, row, reason) : putOff(sql, row, { inMs, reason })));
    }
    if (!isNoLonger(made.shortUrl, row.url))
      return void (await markLong(sql, row, `${adapter.title} makes none that is shorter`));
    await markMade(sql, row, made);
  };
