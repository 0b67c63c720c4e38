import { atMost } from '../../platform/flow/index.ts';
import { AppError, type ErrorCode } from '../../platform/kernel/index.ts';
import type { Json, Sql } from '../../platform/db/index.ts';
import { BudgetRefusal } from '../budget/index.ts';
import { ClaimLost, openAsk, type UnsettledCall, writeUnsettled } from './ask.ts';
import { type RunStepRow, setJob } from './claim-store.ts';
import type { RunKind, StepRow, StepTools } from './contract.ts';
import type { RunsDeps } from './deps.ts';
import { endOpenSteps, endStep, setNextLook, type StepEnd } from './end-store.ts';
import { insertEvents, type NewEvent } from './events-store.ts';
import { writeEnd } from './rounds.ts';
import { isOpen, LATE_LOOK_MS, MOST_CLAIMS, MOST_LOST, unfold } from './rules.ts';
import * as store from './store.ts';

/** Works on a step that this process has claimed. What it throws is repeated when the claim is over. */
export async function workOn(deps: RunsDeps, step: RunStepRow): Promise<void> {
  const kind = deps.kinds.get(step.kind)!; // only steps of known kinds are claimed
  if (step.state !== 'running') return lookAfterJob(deps, kind, step);
  const left = await settleLeft(deps, step);
  if (left !== undefined) return finish(deps, kind, step, left);
  if (step.leftMs <= 0) return finish(deps, kind, step, step.isInUse ? TIMED_OUT : NOT_IN_USE);
  if (step.claim > MOST_CLAIMS)
    return finish(deps, kind, step, { state: 'failed', error: 'This step was begun too often', errorCode: 'internal' });
  await attempt(deps, kind, step);
}

const TIMED_OUT: StepEnd = { state: 'timed_out', error: 'The time of this step is over', lateInMs: 0 };
const NOT_IN_USE: StepEnd = {
  ...TIMED_OUT,
  error: 'The time of this step passed while the organization was disabled or deleted',
};

/** Settles the call that a process left behind when it died: nobody knows what became of it. Answers why to give up. */
async function settleLeft({ sql, budget }: RunsDeps, step: RunStepRow): Promise<StepEnd | undefined> {
  const { reservation: ref, orgId } = step;
  if (ref === null) return undefined;
  await sql.begin(async (tx) => {
    const { count } = await tx`
      update run_steps
      set reservation = null, lost = lost + 1
      where id = ${step.id} and org_id = ${orgId} and claim = ${step.claim} and reservation = ${ref}`;
    if (count > 0) await budget.settle(tx, { orgId, ref }, undefined, { marked: true });
  });
  step.lost += 1;
  return step.lost > MOST_LOST
    ? { state: 'failed', error: 'The answer of the model was lost twice', errorCode: 'provider_failed' }
    : undefined;
}

async function attempt(deps: RunsDeps, kind: RunKind, step: RunStepRow): Promise<void> {
  const over = deps.held.take(step);
  const deadline = new AbortController();
  void deps.clock.sleep(step.leftMs, over.signal).then(
    () => deadline.abort(new Error('The time of this step is over')),
    () => undefined,
  );
  const signal = AbortSignal.any([over.signal, deadline.signal]);
  const { takeUnsettled, ...asking } = openAsk(deps, step, signal);
  let end: StepEnd | undefined;
  try {
    const work = kind.work(step, toolsOf(deps, step, signal, asking));
    try {
      end = { state: 'done', output: await raced(work, signal) };
    } finally {
      // a call that was aborted says what it leaves to be settled; what stays silent is settled when its time is over
      if (signal.aborted) await atMost(deps.clock, ABORT_MS, () => work.catch(() => undefined));
    }
  } catch (error) {
    if (deadline.signal.aborted) end = TIMED_OUT;
    else if (over.signal.aborted || error instanceof ClaimLost) end = undefined;
    else if (error instanceof AppError && (!MAY_PASS.has(error.code) || isOfJob(error))) end = failedBy(error);
    else {
      const unsettled = takeUnsettled();
      if (unsettled) await deps.sql.begin((tx) => writeUnsettled(tx, step, unsettled));
      throw error;
    }
  } finally {
    over.abort(OVER); // nothing waits for its deadline any more
    deps.held.drop(step);
  }
  await finish(deps, kind, step, end, takeUnsettled());
}

/** Faults of this service: the step is done again when its lease is over. */
const MAY_PASS: ReadonlySet<ErrorCode> = new Set(['internal', 'unavailable', 'busy', 'draining']);
/** A media job has ended so, and does each time that it is waited for. */
const isOfJob = ({ extra }: AppError): boolean => extra['jobId'] !== undefined;
const ABORT_MS = 1_000;
/** Made once: the platform's own reason is an error with a stack for each. */
const OVER = new Error('The step has ended');

const failedBy = (error: AppError): StepEnd => ({
  state: 'failed',
  error: error.message,
  errorCode: error.code,
  isBudgetUsedUp: error instanceof BudgetRefusal && error.isOfAll,
});

/** The work, or the end of its time: nothing that it does can hold the step longer. */
const raced = <T>(work: Promise<T>, signal: AbortSignal): Promise<T> =>
  Promise.race([
    work,
    new Promise<never>((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    }),
  ]);

/** Between two looks at how far a media job is. */
const FOLLOW_MS = 5_000;

function toolsOf(
  deps: RunsDeps,
  step: RunStepRow,
  signal: AbortSignal,
  asking: Pick<StepTools, 'ask' | 'keep'>,
): StepTools {
  const run = { orgId: step.orgId, id: step.runId };
  async function tell(event: string, data: Json): Promise<void> {
    await deps.sql.begin(async (tx) => {
      await store.lockRun(tx, run);
      await insertEvents(tx, run, [{ kind: event, data }]);
    });
    deps.readers.written(step.runId);
  }
  return {
    signal,
    leftMs: step.leftMs,
    ...asking,
    async outputOf(name, { kept = false } = {}) {
      const cameTo = (found: Pick<StepRow, 'state' | 'output'> | undefined) =>
        found?.state === 'done' || (kept && found && !isOpen(found)) ? (found.output ?? undefined) : undefined;
      const known = Object.hasOwn(step.others, name) ? step.others[name]! : undefined;
      if (!known || !isOpen(known)) return cameTo(known); // so it stays
      return cameTo(await store.findStep(deps.sql, run, { round: step.round, name }));
    },
    async make(wanted) {
      const { orgId, userId } = step;
      if (userId === null) throw new AppError('conflict', 'Whoever asked for this is gone');
      if (!(await setJob(deps.sql, step))) throw new ClaimLost();
      await deps.mediaJobs.create({ orgId, userId }, { ...wanted, id: step.id });
      // a stop looks for the job once, perhaps before it was there; of a claim that is lost another waits for it
      if ((await store.findStep(deps.sql, run, step))?.state !== 'running') {
        await cancelJobOf(deps, step);
        throw new ClaimLost();
      }
      for (let before: string | undefined, polledBefore: number | undefined; ;) {
        signal.throwIfAborted();
        const made = await deps.mediaJobs.wait(orgId, step.id, { ms: FOLLOW_MS, signal });
        if (made) return made;
        const { state, progress, polledAt } = await deps.mediaJobs.get(orgId, step.id);
        const now = `${state} ${progress}`;
        const polled = polledAt?.getTime();
        if (before !== undefined && now !== before) await tell('progress', { name: step.name, state, progress });
        else if (before !== undefined && polled !== polledBefore) await store.touchRun(deps.sql, run);
        [before, polledBefore] = [now, polled];
      }
    },
    tell,
  };
}

/** Ends a step with what follows from it, in one commit. Without an end only the call that it made is settled. */
async function finish(
  deps: RunsDeps,
  kind: RunKind,
  step: RunStepRow,
  end: StepEnd | undefined,
  unsettled?: UnsettledCall,
): Promise<void> {
  if (!end && !unsettled) return;
  await deps.sql.begin(async (tx) => {
    // what is spent is locked by many: it is settled last
    if (end) await endWith(tx, kind, step, end, () => unsettled?.settle(tx));
    else if (unsettled) await writeUnsettled(tx, step, unsettled);
  });
  deps.readers.written(step.runId);
  deps.wake();
}

async function endWith(
  tx: Sql,
  kind: RunKind,
  step: RunStepRow,
  end: StepEnd,
  settle: () => Promise<unknown> | undefined,
): Promise<void> {
  const key = { orgId: step.orgId, id: step.runId };
  // sent one behind the other: the second sees what the first has locked and written
  const [run, found] = await Promise.all([endStep(tx, step, end), store.selectRound(tx, key, step.round)]);
  if (!run?.isEnded) return void (await settle());
  let round: readonly store.OrderedStep[] = found;
  const events = [stepEvent(step.name, end.state, end.error)];
  // what the cap over all providers has no room for, it has none for in later steps either
  if (end.isBudgetUsedUp) {
    const error = 'The AI budget was used up before';
    const ended = await endOpenSteps(tx, key, { state: 'skipped', error }, { waitingOnly: true });
    for (const { name } of ended) events.push(stepEvent(name, 'skipped'));
    round = await store.selectRound(tx, key, step.round);
  }
  const next = unfold(round);
  const steps = store.withSkipped(round, next.skipped);
  events.push(...next.skipped.map((name) => stepEvent(name, 'skipped')));
  const told = Promise.all([store.updateWaiting(tx, key, step.round, next), insertEvents(tx, key, events)]);
  if (run.isActive && !steps.some(isOpen)) {
    await told; // the kind tells of the end behind it
    await writeEnd(tx, key, await kind.endRound(tx, run, steps));
  }
  await Promise.all([told, settle()]);
}

const stepEvent = (name: string, state: string, error?: string): NewEvent => ({
  kind: 'step',
  data: { name, state, ...(error !== undefined && { error }) },
});

const cancelJobOf = ({ mediaJobs }: Pick<RunsDeps, 'mediaJobs'>, { orgId, id }: RunStepRow) =>
  mediaJobs.cancel(orgId, id).catch((error: unknown) => {
    if (!(error instanceof AppError && error.code === 'conflict')) throw error; // its results are there already
  });

/** A step that is over has a media job: it is cancelled with its step, or, of one that timed out, looked at until its end. */
async function lookAfterJob(deps: RunsDeps, kind: RunKind, step: RunStepRow): Promise<void> {
  const job = await deps.mediaJobs.get(step.orgId, step.id).catch((error: unknown) => {
    if (error instanceof AppError && error.code === 'not_found') return undefined;
    throw error;
  });
  if (step.state !== 'timed_out' || !job || job.endedAt) {
    const isLate = step.state === 'timed_out' && job?.state === 'done';
    const shown = isLate ? await deps.mediaJobs.show(step.orgId, step.id) : undefined;
    if (job && !job.endedAt) await cancelJobOf(deps, step);
    const key = { orgId: step.orgId, id: step.runId };
    await deps.sql.begin(async (tx) => {
      const run = await store.lockRun(tx, key);
      if (!(await setNextLook(tx, step, null)) || !run || !shown) return;
      const found = (await store.findStep(tx, key, step))!; // the run is locked
      await kind.hearLate?.(tx, run, found, shown);
      await insertEvents(tx, key, [
        { kind: 'late', data: { name: step.name, fileIds: shown.files.map(({ id }) => id) } },
      ]);
    });
    return deps.readers.written(step.runId);
  }
  await setNextLook(deps.sql, step, LATE_LOOK_MS);
}
