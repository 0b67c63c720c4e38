import { z } from 'zod';
import type { Sql } from '../../platform/db/index.ts';
import type { RowPage } from '../../platform/kernel/index.ts';
import type { RunReads, RunRef, RunRow, StepRow } from '../runs/index.ts';
import { DESIGNER, type DesignerDeps } from './deps.ts';
import { DesignPlan } from './plan.ts';

export const SESSION_STATES = ['planning', 'awaiting_plan', 'executing', 'completed', 'failed', 'cancelled'] as const;
export type SessionState = (typeof SESSION_STATES)[number];

/** What somebody wants to have made. */
export const SessionWish = z.strictObject({
  prompt: z.string().trim().min(1).max(8_000),
  brandKitId: z.string().max(64).nullish(),
  channels: z.array(z.string().max(64)).max(50).nullish(),
  format: z.string().trim().min(1).max(100).nullish(),
});
export type SessionWish = z.output<typeof SessionWish>;

export const SessionMessage = z.strictObject({ role: z.enum(['user', 'assistant']), content: z.string() });
export type SessionMessage = z.output<typeof SessionMessage>;

/** What the run of a session has come to. */
export const SessionOutput = z.strictObject({ plan: DesignPlan.nullable() });

const Asset = z.strictObject({ id: z.string(), path: z.string(), kind: z.enum(['image', 'video', 'draft']) });
/** What a step of a plan came to. */
export const StepAssets = z.strictObject({ assets: z.array(Asset), removed: z.array(z.string()).default([]) });
export type StepAssets = z.output<typeof StepAssets>;

export interface DesignerSession {
  id: string;
  state: SessionState;
  messages: readonly (SessionMessage & { at: Date })[];
  plan: DesignPlan | null;
  /** The steps of the plan that was executed last. */
  steps: readonly Pick<StepRow, 'name' | 'state' | 'error'>[];
  assets: readonly z.output<typeof Asset>[];
  error: string | null;
  createdAt: Date;
  updatedAt: Date;
}

export const outputOf = ({ output }: Pick<RunRow, 'output'>): z.output<typeof SessionOutput> =>
  output === null ? { plan: null } : SessionOutput.parse(output);

/** Steps that make a plan have this name, which no step of a plan has. */
export const PLAN_STEP = 'plan:';
const isPlanned = ({ name }: Pick<StepRow, 'name'>): boolean => name !== PLAN_STEP;

const outcomesOf = (steps: readonly StepRow[]) =>
  steps.filter(isPlanned).flatMap(({ output }) => (output === null ? [] : [StepAssets.parse(output)]));
/** What steps have made; those of which a person deleted the draft or the file since are still named. */
export const assetsOf = (steps: readonly StepRow[]) => outcomesOf(steps).flatMap(({ assets }) => assets);
/** The links and mentions that were removed from texts, each once. */
export const removedOf = (steps: readonly StepRow[]) => [
  ...new Set(outcomesOf(steps).flatMap(({ removed }) => removed)),
];

/** Sessions as people see them. */
async function shown(reads: RunReads, orgId: string, rows: readonly RunRow[]) {
  const ids = rows.map(({ id }) => id);
  const [said, made] = await Promise.all([reads.events(orgId, ids, 'message'), reads.steps(orgId, ids)]);
  return rows.map((run): DesignerSession => {
    const steps = made.filter(({ runId }) => runId === run.id);
    const planned = steps.filter(isPlanned);
    const last = planned.at(-1)?.round;
    return {
      id: run.id,
      state: run.state as SessionState, // the kind writes no other
      messages: said
        .filter(({ runId }) => runId === run.id)
        .map(({ data, at }) => ({ ...SessionMessage.parse(data), at })),
      plan: outputOf(run).plan,
      steps: planned.filter(({ round }) => round === last),
      assets: assetsOf(steps),
      error: run.error,
      createdAt: run.createdAt,
      updatedAt: run.touchedAt,
    };
  });
}

/** @throws AppError `not_found` */
export const getSession = async (deps: Pick<DesignerDeps, 'runs'>, key: RunRef): Promise<DesignerSession> =>
  (await shown(deps.runs, key.orgId, [await deps.runs.get(key, DESIGNER)]))[0]!;

/** A session as the transaction sees it that has just written it. */
export async function sessionIn({ runs }: Pick<DesignerDeps, 'runs'>, tx: Sql, key: RunRef): Promise<DesignerSession> {
  const run = await runs.lock(tx, key);
  return (await shown(runs.readsIn(tx), key.orgId, [run!]))[0]!;
}

export async function listSessions(
  deps: Pick<DesignerDeps, 'runs'>,
  orgId: string,
  page: { limit: number; cursor?: string | undefined },
): Promise<RowPage<DesignerSession>> {
  const { items, nextCursor } = await deps.runs.list(orgId, { ...page, kind: DESIGNER });
  return { items: await shown(deps.runs, orgId, items), nextCursor };
}
