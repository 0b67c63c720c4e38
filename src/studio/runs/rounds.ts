import type { Json, Sql } from '../../platform/db/index.ts';
import type { NewRun, NewStep, RoundEnd, RunRef, RunRow } from './contract.ts';
import type { RunsDeps } from './deps.ts';
import { endOpenSteps } from './end-store.ts';
import { insertEvents, type NewEvent } from './events-store.ts';
import { faultOfSteps, unfold } from './rules.ts';
import * as store from './store.ts';

// What rooms do with their runs, each in the transaction of the caller, who says `settled` after its commit.

/** Begins a run with its first round, in the caller's transaction; afterwards `announceRun` makes it known. */
export async function beginRun(_: object, sql: Sql, run: NewRun): Promise<void> {
  checkSteps(run.steps);
  await store.insertRun(sql, run);
  await insertRound(sql, run, 1, run);
}

/** Begins the next round; false: the run is in another state, and nothing was written. */
export async function beginRound(
  _: object,
  sql: Sql,
  key: RunRef,
  round: { from: readonly string[]; state: string; steps: readonly NewStep[]; deadlineMs?: number },
): Promise<boolean> {
  checkSteps(round.steps);
  const run = await store.updateRound(sql, key, round);
  if (!run) return false;
  await insertRound(sql, key, run.round, round);
  return true;
}

async function insertRound(
  sql: Sql,
  key: RunRef,
  round: number,
  { steps, state }: { steps: readonly NewStep[]; state: string },
): Promise<void> {
  await store.insertSteps(sql, key, round, steps);
  const all = steps.map(({ name, after = [], anyway = false }) => ({ name, after, anyway, state: 'waiting' as const }));
  await store.updateWaiting(sql, key, round, unfold(all));
  await insertEvents(sql, key, [{ kind: 'state', data: { state } }]);
}

function checkSteps(steps: readonly NewStep[]): void {
  const fault = steps.length === 0 ? 'a round has no step' : faultOfSteps(steps);
  if (fault !== undefined) throw new Error(`Steps of a run: ${fault}`);
}

export interface RunStop {
  from: readonly string[];
  state: string;
  error: string | null;
  /** Only where nobody has touched its round for so long. */
  untouchedMinutes?: number;
}

/**
 * Ends what is open of a run that is in one of these states: calls under way are settled by their estimate, media jobs
 * are cancelled by whoever claims their step next. Undefined: it is in another state. Answers the run as it was.
 */
export async function stopRun(
  { budget }: Pick<RunsDeps, 'budget'>,
  sql: Sql,
  key: RunRef,
  { from, state, error, untouchedMinutes }: RunStop,
): Promise<RunRow | undefined> {
  const run = await store.lockRun(sql, key);
  if (!run || !from.includes(run.state)) return undefined;
  if (untouchedMinutes !== undefined && run.isActive && run.untouchedMinutes <= untouchedMinutes) return undefined;
  const ended = await endOpenSteps(sql, key, { state: 'cancelled', error: error ?? 'Cancelled' });
  for (const { orgId, ref } of ended) if (ref) await budget.settle(sql, { orgId, ref }, undefined, { marked: true });
  await writeEnd(sql, key, { state, error });
  return run;
}

/** Writes how a round has ended, and tells those who follow. */
export async function writeEnd(sql: Sql, key: RunRef, end: RoundEnd): Promise<void> {
  const event = { kind: 'state', data: { state: end.state, ...(end.error && { error: end.error }) } };
  await insertEvents(sql, key, [event], store.endOfRound(sql, end));
}

/** Changes what a run has come to beside its rounds, such as a plan or a message, and tells those who follow. */
export async function changeRun(
  _: object,
  sql: Sql,
  key: RunRef,
  { event, output }: { event: NewEvent; output?: Json },
): Promise<void> {
  const change = output === undefined ? undefined : sql`, output = ${sql.json(output)}`;
  await insertEvents(sql, key, [event], change);
}

/** After the commit of what concerns a run: steps that are due are taken up, ended ones aborted, readers told. */
export function announceRun(
  { wake, held, readers }: Pick<RunsDeps, 'wake' | 'held' | 'readers'>,
  runId: string,
  { isStopped = false }: { isStopped?: boolean } = {},
): void {
  if (isStopped) held.abort((step) => step.runId === runId, 'The round has ended');
  readers.written(runId);
  wake();
}
