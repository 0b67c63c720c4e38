import { keepAnswer, type KeptAnswer, runEach, type Sql } from '../../platform/db/index.ts';
import { AppError, bind, newId, notFound } from '../../platform/kernel/index.ts';
import type { NewStep, RunRef, RunRow } from '../runs/index.ts';
import { DESIGNER, type DesignerDeps } from './deps.ts';
import { draftIdOf, dropDrafts } from './drafts.ts';
import { checkWish, materialOf } from './material.ts';
import type { PlannedStep } from './plan.ts';
import { checkBudget } from './quote.ts';
import { findSessionPlan, judgeWords, replacePlan } from './rewording.ts';
import {
  type DesignerSession,
  getSession,
  listSessions,
  outputOf,
  PLAN_STEP,
  sessionIn,
  SessionWish,
} from './session.ts';
import { designerKind } from './work.ts';
import { planQuestion } from './words.ts';

const planStep = ({ agentTimeoutMs }: DesignerDeps): NewStep => ({ name: PLAN_STEP, deadlineMs: agentTimeoutMs });
const sayUser = (deps: DesignerDeps, tx: Sql, key: RunRef, content: string) =>
  deps.runs.change(tx, key, { event: { kind: 'message', data: { role: 'user', content } } });

const wrongState = ({ state }: Pick<RunRow, 'state'>, verb: string) =>
  new AppError('conflict', `This session is ${state}, and cannot be ${verb} now`, { detail: state });

/** The session of a key, locked until the commit. @throws AppError `not_found` */
async function lockSession(deps: DesignerDeps, tx: Sql, key: RunRef): Promise<RunRow> {
  const run = await deps.runs.lock(tx, key);
  if (run?.kind !== DESIGNER) throw notFound('There is no such session');
  return run;
}

/** The session as this transaction leaves it, which is the answer that is kept. */
async function answerIn(
  deps: DesignerDeps,
  tx: Sql,
  key: RunRef,
  kept: KeptAnswer<DesignerSession> | undefined,
): Promise<DesignerSession> {
  const session = await sessionIn(deps, tx, key);
  await keepAnswer(tx, kept, session);
  return session;
}

async function checkRoomForPlan(
  { runs, budget }: Pick<DesignerDeps, 'runs' | 'budget'>,
  { orgId, userId }: Pick<RunRow, 'orgId' | 'userId'>,
  wish: SessionWish,
): Promise<void> {
  const quote = await runs.quote(orgId, planQuestion(wish));
  await budget.checkRoomFor([{ ...quote, orgId, userId }]);
}

/**
 * Begins a session: its plan is made beside the answer.
 *
 * @throws AppError 400 for what is not there, also a provider of texts, and 402 where the budget has no room for a plan
 */
async function createSession(
  deps: DesignerDeps,
  { orgId, userId }: { orgId: string; userId: string },
  wish: SessionWish,
  kept?: KeptAnswer<DesignerSession>,
): Promise<DesignerSession> {
  await checkWish(deps, orgId, wish);
  await checkRoomForPlan(deps, { orgId, userId }, wish);
  const key = { orgId, id: newId() };
  const session = await deps.sql.begin(async (tx) => {
    const input = Object.fromEntries(Object.entries(wish).filter(([, value]) => value != null));
    await deps.runs.begin(tx, { ...key, userId, kind: DESIGNER, state: 'planning', input, steps: [planStep(deps)] });
    await sayUser(deps, tx, key, wish.prompt);
    return answerIn(deps, tx, key, kept);
  });
  deps.runs.announce(key.id);
  return session;
}

const MAY_WRITE = ['awaiting_plan', 'completed', 'failed'];

/**
 * Says more to the planner, who makes another plan.
 *
 * @throws AppError `conflict` while one is made or executed; 400 without a provider of texts and 402 where the budget has
 * no room for a plan: the one that waits to be approved still does
 */
async function addMessage(
  deps: DesignerDeps,
  key: RunRef,
  content: string,
  kept?: KeptAnswer<DesignerSession>,
): Promise<DesignerSession> {
  const before = await deps.runs.get(key, DESIGNER);
  if (!MAY_WRITE.includes(before.state)) throw wrongState(before, 'written to');
  await checkRoomForPlan(deps, before, SessionWish.parse(before.input));
  const session = await deps.sql.begin(async (tx) => {
    const run = await lockSession(deps, tx, key);
    if (!(await deps.runs.beginRound(tx, key, { from: MAY_WRITE, state: 'planning', steps: [planStep(deps)] })))
      throw wrongState(run, 'written to');
    await sayUser(deps, tx, key, content);
    return answerIn(deps, tx, key, kept);
  });
  deps.runs.announce(key.id);
  return session;
}

/**
 * Has the plan executed, this one and no other.
 *
 * @throws AppError `conflict` where it is not awaited or has changed, 402 where the budget has no room for it, 403 for
 * drafts of somebody who may make none
 */
async function approvePlan(
  deps: DesignerDeps,
  { mayDraft, planHash, ...key }: RunRef & { mayDraft: boolean; planHash?: string | undefined },
): Promise<DesignerSession> {
  const session = await deps.runs.get(key, DESIGNER);
  const { plan } = outputOf(session);
  if (session.state !== 'awaiting_plan' || !plan) throw wrongState(session, 'approved');
  if (planHash !== undefined && planHash !== plan.hash) throw planChanged();
  if (!mayDraft && plan.steps.some(({ kind }) => kind === 'copy'))
    throw new AppError('forbidden', 'This plan makes drafts, and your role lacks the permission posts:create');
  const { messages: _, ...told } = await materialOf(deps, { orgId: key.orgId, runId: key.id }, session.input);
  await checkBudget(deps, session, plan.steps, told);
  await deps.sql.begin(async (tx) => {
    const run = await lockSession(deps, tx, key);
    if (outputOf(run).plan?.hash !== plan.hash) throw planChanged();
    const steps = plan.steps.map((step) => stepOf(deps, step));
    if (!(await deps.runs.beginRound(tx, key, { from: ['awaiting_plan'], state: 'executing', steps })))
      throw wrongState(run, 'approved');
  });
  deps.runs.announce(key.id);
  return getSession(deps, key);
}

const planChanged = () => new AppError('conflict', 'The plan has changed since it was seen: read it again');
const stepOf = ({ agentTimeoutMs, assetTimeoutMs }: DesignerDeps, step: PlannedStep): NewStep => ({
  name: step.id,
  input: step,
  after: step.dependsOn,
  deadlineMs: step.kind === 'copy' ? agentTimeoutMs : assetTimeoutMs,
});

const ACTIVE = ['planning', 'executing'];

/** Ends a session: what is under way is aborted, jobs are cancelled, what was made stays. @throws AppError `conflict` */
async function cancelSession(deps: DesignerDeps, key: RunRef): Promise<DesignerSession> {
  await deps.sql.begin(async (tx) => {
    const run = await lockSession(deps, tx, key);
    const end = { from: [...ACTIVE, 'awaiting_plan'], state: 'cancelled', error: null };
    if (!(await deps.runs.stop(tx, key, end))) throw wrongState(run, 'cancelled');
  });
  deps.runs.announce(key.id, { isStopped: true });
  return getSession(deps, key);
}

/**
 * Deletes a session with its messages and plans; files and drafts stay. Who begins a round of it meanwhile is stopped,
 * too.
 *
 * @throws AppError `not_found`
 */
async function removeSession(deps: DesignerDeps, key: RunRef): Promise<void> {
  do {
    await deps.sql.begin(async (tx) => {
      await lockSession(deps, tx, key);
      await deps.runs.stop(tx, key, { from: ACTIVE, state: 'cancelled', error: null });
    });
    deps.runs.announce(key.id, { isStopped: true });
  } while (!(await deps.runs.remove(key)));
}

const STUCK = 'Nothing happened for too long: what was under way was taken back, and the plan can be approved again';

/**
 * Takes sessions back in which nothing has happened for too long: steps are dropped, jobs cancelled, drafts of the
 * attempt deleted. Answers how many, `limit` at most. One that a process leaves half way is taken back by the next sweep.
 */
function rollBackStuck(deps: DesignerDeps, limit: number): Promise<number> {
  const stuck = { kind: DESIGNER, states: ACTIVE, minutes: deps.stuckMinutes };
  return runEach<RunRow>(limit, {
    find: (most, without) => deps.runs.findStuck({ ...stuck, limit: most, without }),
    work: (run) => rollBack(deps, run),
    failed: (err, { id }) => deps.log.warn({ err, runId: id }, 'a stuck session could not be taken back, tried again'),
  });
}

async function rollBack(deps: DesignerDeps, run: RunRow): Promise<void> {
  const { state } = run;
  const stopped = await deps.sql.begin((tx) =>
    deps.runs.stop(tx, run, { from: [state], state, error: null, untouchedMinutes: deps.stuckMinutes }),
  );
  if (!stopped) return; // somebody went on meanwhile
  deps.runs.announce(run.id, { isStopped: true });
  const steps = (await deps.runs.steps(run.orgId, [run.id])).filter(
    ({ round, name }) => round === run.round && name !== PLAN_STEP,
  );
  const drafts = steps.flatMap(({ id, input }) => (input as PlannedStep).channelIds.map((one) => draftIdOf(id, one)));
  await dropDrafts(deps, run.orgId, drafts);
  await deps.sql.begin(async (tx) => {
    for (const step of steps.filter(({ input }) => (input as PlannedStep).kind === 'copy'))
      await deps.runs.setOutput(tx, { orgId: run.orgId, id: step.id }, null);
    await deps.runs.stop(tx, run, { from: [state], state: 'awaiting_plan', error: STUCK });
    await deps.runs.change(tx, run, { event: { kind: 'message', data: { role: 'assistant', content: STUCK } } });
  });
  deps.runs.announce(run.id);
}

export type Designer = ReturnType<typeof openDesigner>;

/** Opens the designer: sessions in which a plan is made, approved and executed (S191). */
export function openDesigner(deps: DesignerDeps) {
  deps.runs.add(designerKind(deps));
  return bind(deps, {
    createSession,
    getSession,
    listSessions,
    addMessage,
    approvePlan,
    cancelSession,
    removeSession,
    rollBackStuck,
    findSessionPlan,
    judgeWords,
    replacePlan,
  });
}
