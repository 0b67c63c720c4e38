import { csvLine } from '../../../platform/audit/index.ts';
import type { Sql } from '../../../platform/db/index.ts';
import { PLANS } from '../../../entitlements/index.ts';
import { askedRange, type DayRange, shownRange } from '../days.ts';
import type { AnalyticsDeps } from '../deps.ts';
import type { AskedDays } from './reading.ts';

/** Rows that are read at a time: no more of a file is in memory. */
const PAGE = 1_000;

interface ExportRow {
  date: string;
  channelId: string;
  channelName: string;
  providerId: string;
  metric: string;
  value: number;
  derived: boolean;
}
type Kept = 'day' | 'week';
const SOURCES = { week: ['analytics_weeks', 'week'], day: ['analytics_days', 'date'] } as const;

/** The next rows of an organization by date, channel and metric, behind `after`; along an index. */
const findRows = (
  sql: Sql,
  orgId: string,
  kept: Kept,
  { from, to }: DayRange,
  after: ExportRow | undefined,
): Promise<ExportRow[]> => {
  const [table, date] = SOURCES[kept];
  const behind = (row: ExportRow) => sql`
      and (d.${sql(date)}, d.channel_id, d.metric) > (${row.date}::date, ${row.channelId}::uuid, ${row.metric}::text)`;
  return sql<ExportRow[]>`
    select d.${sql(date)}::text as date, d.channel_id as "channelId", c.name as "channelName",
      c.provider_id as "providerId", d.metric, d.value, d.derived
    from ${sql(table)} d
    join channels c on c.id = d.channel_id and c.org_id = d.org_id and c.deleted_at is null
    where d.org_id = ${orgId}
      and d.${sql(date)} between ${from}::date and ${to}::date
      ${after ? behind(after) : sql``}
    order by d.${sql(date)}, d.channel_id, d.metric
    limit ${PAGE}`;
};

/**
 * The numbers of every channel as CSV, weeks before days, read piece by piece. The range is judged before the first
 * piece.
 * @throws AppError 400 naming the field
 */
export async function exportNumbers(
  { sql, clock, billing }: Pick<AnalyticsDeps, 'sql' | 'clock' | 'billing'>,
  orgId: string,
  asked: AskedDays,
): Promise<AsyncIterable<string>> {
  const now = clock.now();
  const wanted = askedRange(asked, now);
  const { tier } = await billing.shown(orgId);
  return lines(sql, orgId, shownRange(wanted, now, PLANS[tier].analyticsRetentionDays));
}

async function* lines(sql: Sql, orgId: string, range: DayRange | undefined): AsyncGenerator<string> {
  yield csvLine(['date', 'interval', 'integrationId', 'integrationName', 'provider', 'metric', 'value', 'derived']);
  if (!range) return;
  for (const kept of ['week', 'day'] as const)
    for (let after: ExportRow | undefined; ;) {
      const rows = await findRows(sql, orgId, kept, range, after);
      if (rows.length > 0) yield rows.map((row) => lineOf(row, kept)).join('');
      if (rows.length < PAGE) break;
      after = rows.at(-1)!;
    }
}

const lineOf = ({ date, channelId, channelName, providerId, metric, value, derived }: ExportRow, kept: Kept): string =>
  csvLine([date, kept, channelId, channelName, providerId, metric, String(value), String(derived)]);
