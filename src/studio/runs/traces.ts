import { oldRows, retentionRule, type Sql } from '../../platform/db/index.ts';
import { isId, pageOf, type RowPage } from '../../platform/kernel/index.ts';
import type { CallUsage } from '../../providers/registry/index.ts';
import type { RunsDeps } from './deps.ts';

/** One call of a language model, for whoever wants to know why a run came to what it did. */
export interface TraceRow {
  id: string;
  runId: string;
  step: string;
  providerId: string;
  /** As the answer names it. */
  model: string;
  promptVersion: string;
  inputTokens: number | null;
  outputTokens: number | null;
  costMicros: number | null;
  /** `stop`, `length`, `filter`, `other`, or the failure of the provider. */
  ended: string;
  input: string;
  output: string | null;
  beganAt: Date;
  endedAt: Date;
}
export interface NewTrace extends Pick<
  TraceRow,
  'id' | 'runId' | 'step' | 'providerId' | 'model' | 'promptVersion' | 'ended' | 'input' | 'beganAt' | 'endedAt'
> {
  orgId: string;
  userId: string | null;
  usage?: CallUsage;
  micros?: number | undefined;
  output?: string;
}

export async function insertTrace(sql: Sql, trace: NewTrace): Promise<void> {
  const { usage = {} } = trace;
  await sql`
    insert into ai_traces (id, org_id, user_id, run_id, step, provider_id, model, prompt_version, input_tokens,
      output_tokens, cost_micros, ended, input, output, began_at, ended_at)
    values (${trace.id}, ${trace.orgId}, ${trace.userId}, ${trace.runId}, ${trace.step}, ${trace.providerId},
      ${trace.model}, ${trace.promptVersion}, ${usage.inputTokens ?? null}, ${usage.outputTokens ?? null},
      ${trace.micros ?? null}, ${trace.ended}, ${trace.input}, ${trace.output ?? null}, ${trace.beganAt},
      ${trace.endedAt})
    on conflict do nothing`;
}

/** Lists the traces of a run, the oldest first; those of one person, or of everybody. */
export async function listTraces(
  { sql }: Pick<RunsDeps, 'sql'>,
  orgId: string,
  { runId, userId, limit, cursor }: { runId: string; userId?: string; limit: number; cursor?: string | undefined },
): Promise<RowPage<TraceRow>> {
  if (!isId(runId)) return { items: [], nextCursor: null };
  const rows = await sql<TraceRow[]>`
    select t.id, t.run_id as "runId", t.step, t.provider_id as "providerId", t.model,
      t.prompt_version as "promptVersion", t.input_tokens as "inputTokens", t.output_tokens as "outputTokens",
      t.cost_micros::float8 as "costMicros", t.ended, t.input, t.output, t.began_at as "beganAt",
      t.ended_at as "endedAt"
    from ai_traces t
    where t.org_id = ${orgId}
      and t.run_id = ${runId}
      ${userId === undefined ? sql`` : sql`and t.user_id = ${userId}`}
      ${cursor === undefined ? sql`` : sql`and t.id > ${cursor}`}
    order by t.id
    limit ${limit + 1}`;
  return pageOf(rows, limit);
}

const OLD = oldRows('ai_traces', 'ended_at');
/** What RT14 keeps. */
export const aiTracesRetention = retentionRule('MASTRA_TRACE_RETENTION_DAYS', ['ai-traces'], OLD.due);

/** Deletes traces that are too old, at most `limit`; answers how many. */
export const dropOldTraces = (
  { sql, traceDays }: Pick<RunsDeps, 'sql' | 'traceDays'>,
  limit: number,
): Promise<number> => OLD.drop(sql, traceDays, limit);
