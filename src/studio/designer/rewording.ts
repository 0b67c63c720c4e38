import { AppError, parse } from '../../platform/kernel/index.ts';
import type { RunRef } from '../runs/index.ts';
import { DESIGNER, type DesignerDeps } from './deps.ts';
import { materialOf } from './material.ts';
import { type DesignPlan, designPlanOf, withWords, wordsForm } from './plan.ts';
import { checkBudget } from './quote.ts';
import { outputOf, type SessionState } from './session.ts';

// People change the words of a plan before they approve it. What is approved is a hash of it, so who saw the plan as it
// was before approves nothing.

interface SessionPlan {
  /** Whose session it is; null: somebody who is gone. */
  userId: string | null;
  state: SessionState;
  plan: DesignPlan | null;
}

async function findSession(deps: Pick<DesignerDeps, 'runs'>, key: RunRef) {
  return deps.runs.get(key, DESIGNER).catch((error: unknown) => {
    if (error instanceof AppError && error.code === 'not_found') return undefined;
    throw error;
  });
}

/** The plan of a session as it stands; undefined: there is no such session. */
export async function findSessionPlan(deps: Pick<DesignerDeps, 'runs'>, key: RunRef): Promise<SessionPlan | undefined> {
  const run = await findSession(deps, key);
  return run && { userId: run.userId, state: run.state as SessionState, plan: outputOf(run).plan };
}

interface Seen {
  /** The plan that was read. */
  planHash: string;
}

/**
 * Judges other words for the steps of the plan that is awaited, and answers the plan that they make; undefined where it
 * is another plan by now.
 *
 * @throws AppError 400 for words that no step has or may have, 402 where the budget has no room for what they ask for
 */
export async function judgeWords(
  deps: DesignerDeps,
  key: RunRef,
  { planHash, words }: Seen & { words: Readonly<Record<string, unknown>> },
): Promise<DesignPlan | undefined> {
  const session = await findSession(deps, key);
  const plan = session && outputOf(session).plan;
  if (!plan || session.state !== 'awaiting_plan' || plan.hash !== planHash) return undefined;
  const steps = withWords(plan, parse(wordsForm(plan), words));
  const { messages: _, ...told } = await materialOf(deps, { orgId: key.orgId, runId: key.id }, session.input);
  return designPlanOf(steps, await checkBudget(deps, session, steps, told));
}

/** Puts a plan in the place of the one that was read; false where that is another by now, or awaited no more. */
export async function replacePlan(
  deps: Pick<DesignerDeps, 'sql' | 'runs'>,
  key: RunRef,
  { planHash, plan }: Seen & { plan: DesignPlan },
): Promise<boolean> {
  const isReplaced = await deps.sql.begin(async (tx) => {
    const run = await deps.runs.lock(tx, key);
    if (run?.kind !== DESIGNER || run.state !== 'awaiting_plan' || outputOf(run).plan?.hash !== planHash) return false;
    await deps.runs.change(tx, key, { event: { kind: 'plan', data: plan }, output: { ...outputOf(run), plan } });
    return true;
  });
  if (isReplaced) deps.runs.announce(key.id);
  return isReplaced;
}
