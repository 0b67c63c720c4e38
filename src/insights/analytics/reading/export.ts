import { csvCells, csvLine } from '../../../platform/audit/index.ts';
import type { Sql } from '../../../platform/db/index.ts';
import { PLANS } from '../../../entitlements/index.ts';
import { askedRange, type DayRange, plusDays, shownRange } from '../days.ts';
import type { AnalyticsDeps } from '../deps.ts';
import type { AskedDays } from './reading.ts';

/** About so many rows are a piece; two pieces are in memory, one that is read and one that is written. */
const PIECE_ROWS = 2_000;
/** A channel has about so many numbers a day. */
const NUMBERS_A_DAY = 10;

type Kept = 'day' | 'week';
interface Piece extends DayRange {
  kept: Kept;
}
const SOURCES = { week: ['analytics_weeks', 'week'], day: ['analytics_days', 'date'] } as const;

/** The channels that are there, and the cells that are the same on all lines of one. */
async function readChannels(sql: Sql, orgId: string): Promise<{ ids: string[]; cells: string[] }> {
  const channels = await sql<{ id: string; name: string; providerId: string }[]>`
    select id, name, provider_id as "providerId"
    from channels
    where org_id = ${orgId}
      and deleted_at is null`;
  return {
    ids: channels.map(({ id }) => id),
    cells: channels.map(({ id, name, providerId }) => csvCells([id, name, providerId])),
  };
}

/**
 * The lines of a piece, by date, channel and metric: made by the database, which is several times faster than to read
 * each row. A number below zero would be a formula, and gets its apostrophe, as `csvCells` gives it to texts.
 */
async function readLines(
  sql: Sql,
  orgId: string,
  { ids, cells }: { ids: string[]; cells: string[] },
  { kept, from, to }: Piece,
): Promise<Uint8Array | null> {
  const [table, date] = SOURCES[kept];
  const [row] = await sql`
    select string_agg(line, '') as lines
    from (
      select concat('"', d.${sql(date)}, '","', ${kept}::text, '",', c.cells, ',"', replace(d.metric, '"', '""'), '","',
        case when d.value < 0 then '''' end, d.value, '","', d.derived::text, E'"\\r\\n') as line
      from ${sql(table)} d
      join unnest(${ids}::uuid[], ${cells}::text[]) as c (id, cells) on c.id = d.channel_id
      where d.org_id = ${orgId}
        and d.${sql(date)} between ${from}::date and ${to}::date
      order by d.${sql(date)}, d.channel_id, d.metric
    ) lines`.raw(); // bytes, which are written as they came
  return row![0] as Buffer | null; // null where the piece is empty
}

/**
 * The numbers of every channel as CSV, weeks before days, read piece by piece. The range is judged before the first
 * piece.
 * @throws AppError 400 naming the field
 */
export async function exportNumbers(
  { sql, clock, billing }: Pick<AnalyticsDeps, 'sql' | 'clock' | 'billing'>,
  orgId: string,
  asked: AskedDays,
): Promise<AsyncIterable<string | Uint8Array>> {
  const now = clock.now();
  const wanted = askedRange(asked, now);
  const { tier } = await billing.shown(orgId);
  return lines(sql, orgId, shownRange(wanted, now, PLANS[tier].analyticsRetentionDays));
}

/** The next piece is read while the one before it is written. */
async function* lines(sql: Sql, orgId: string, range: DayRange | undefined): AsyncGenerator<string | Uint8Array> {
  yield csvLine(['date', 'interval', 'integrationId', 'integrationName', 'provider', 'metric', 'value', 'derived']);
  if (!range) return;
  const channels = await readChannels(sql, orgId);
  const read = (piece: Piece | undefined) => piece && readLines(sql, orgId, channels, piece);
  const [first, ...more] = piecesOf(range, channels.ids.length);
  for (let next = read(first); next;) {
    const found: Uint8Array | null = await next;
    next = read(more.shift());
    next?.catch(() => {}); // whoever reads on is told; a reader that has gone is not there to be
    if (found) yield found;
  }
}

/** Weeks before days, each in spans of as many days as make a piece. */
function piecesOf(range: DayRange, channels: number): Piece[] {
  const days = Math.max(1, Math.floor(PIECE_ROWS / Math.max(1, channels * NUMBERS_A_DAY)));
  const spansOf = (kept: Kept, length: number): Piece[] => {
    const spans: Piece[] = [];
    for (let { from } = range; from <= range.to; from = plusDays(from, length))
      spans.push({ kept, from, to: [plusDays(from, length - 1), range.to].toSorted()[0]! });
    return spans;
  };
  return [...spansOf('week', 7 * days), ...spansOf('day', days)];
}
