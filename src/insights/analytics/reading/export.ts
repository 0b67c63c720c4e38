import { csvCells, csvLine } from '../../../platform/audit/index.ts';
import type { Sql } from '../../../platform/db/index.ts';
import { PLANS } from '../../../entitlements/index.ts';
import { askedRange, type DayRange, shownRange } from '../days.ts';
import type { AnalyticsDeps } from '../deps.ts';
import type { AskedDays } from './reading.ts';

/** Rows that are read at a time: two of these are in memory, one that is read and one that is written. */
const PAGE = 1_000;

interface ExportRow {
  date: string;
  channelId: string;
  metric: string;
  value: number;
  derived: boolean;
}
/** The cells of each channel that is there: they are the same on all of its lines. */
type ChannelCells = ReadonlyMap<string, string>;
type Kept = 'day' | 'week';
const SOURCES = { week: ['analytics_weeks', 'week'], day: ['analytics_days', 'date'] } as const;

async function cellsOfChannels(sql: Sql, orgId: string): Promise<ChannelCells> {
  const channels = await sql<{ id: string; name: string; providerId: string }[]>`
    select id, name, provider_id as "providerId"
    from channels
    where org_id = ${orgId}
      and deleted_at is null`;
  return new Map(channels.map(({ id, name, providerId }) => [id, csvCells([id, name, providerId])]));
}

/** The next rows of an organization by date, channel and metric, behind `after`; along an index. */
const findRows = async (
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
    select d.${sql(date)}::text as date, d.channel_id as "channelId", d.metric, d.value, d.derived
    from ${sql(table)} d
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

/** The next page is read while the one before it is written. */
async function* lines(sql: Sql, orgId: string, range: DayRange | undefined): AsyncGenerator<string> {
  yield csvLine(['date', 'interval', 'integrationId', 'integrationName', 'provider', 'metric', 'value', 'derived']);
  if (!range) return;
  const channels = await cellsOfChannels(sql, orgId);
  for (const kept of ['week', 'day'] as const)
    for (let page: Promise<ExportRow[]> | undefined = findRows(sql, orgId, kept, range, undefined); page;) {
      const rows: ExportRow[] = await page;
      page = rows.length === PAGE ? findRows(sql, orgId, kept, range, rows.at(-1)) : undefined;
      page?.catch(() => {}); // whoever reads on is told; a reader that has gone is not there to be
      const text = rows.map((row) => lineOf(row, kept, channels)).join('');
      if (text !== '') yield text;
    }
}

/** Nothing for a channel that is not there. */
function lineOf({ date, channelId, metric, value, derived }: ExportRow, kept: Kept, channels: ChannelCells): string {
  const channel = channels.get(channelId);
  return channel === undefined
    ? ''
    : `${csvCells([date, kept])},${channel},${csvCells([metric, String(value), String(derived)])}\r\n`;
}
