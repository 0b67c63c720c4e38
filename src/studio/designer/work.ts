import { AppError } from '../../platform/kernel/index.ts';
import type { Json, Sql } from '../../platform/db/index.ts';
import { allowedWords, draftContent, keepGivenWords, limitOfChannel } from '../text/index.ts';
import type { ShownJob } from '../media-jobs/index.ts';
import type { ClaimedStep, RoundEnd, RunKind, RunRow, StepRow, StepTools } from '../runs/index.ts';
import { DESIGNER, type DesignerDeps } from './deps.ts';
import { checkRoomForDrafts, draftIdOf, keepDrafts } from './drafts.ts';
import { channelsOf, materialOf, toldChannels, toldKinds } from './material.ts';
import { DesignPlan, type PlannedStep } from './plan.ts';
import { judgeSteps, requestOfStep } from './quote.ts';
import { assetsOf, outputOf, PLAN_STEP, removedOf, SessionWish, StepAssets } from './session.ts';
import { copyQuestion, planQuestion } from './words.ts';

/** All texts in a value, such as what people said and what they chose. */
const textsIn = (value: unknown): string[] =>
  typeof value === 'string'
    ? [value]
    : typeof value === 'object' && value !== null
      ? Object.values(value).flatMap(textsIn)
      : [];

/** What the steps of sessions do, and what their rounds come to. */
export const designerKind = (deps: DesignerDeps): RunKind => ({
  name: DESIGNER,
  work(step, tools) {
    if (step.name === PLAN_STEP) return makePlan(deps, step, tools);
    const planned = step.input as PlannedStep; // as `approvePlan` wrote it
    return planned.kind === 'copy' ? makeCopy(deps, step, planned, tools) : makeFile(deps, step, planned, tools);
  },
  endRound: (sql, run, steps) =>
    run.state === 'planning' ? endPlanning(deps, sql, run, steps) : endExecuting(deps, sql, run, steps),
  async hearLate(sql, run, step, job) {
    await deps.runs.setOutput(sql, { orgId: run.orgId, id: step.id }, madeOf(job));
    await say(deps, sql, run, `The file of the step ${step.name} came late, and is in the library now.`);
  },
});

const say = (deps: Pick<DesignerDeps, 'runs'>, sql: Sql, run: RunRow, content: string) =>
  deps.runs.change(sql, run, { event: { kind: 'message', data: { role: 'assistant', content } } });

/** Asks for a plan, and once more where it cannot be executed. */
async function makePlan(deps: DesignerDeps, step: ClaimedStep, { ask }: StepTools): Promise<Json> {
  const { orgId } = step;
  const material = await materialOf(deps, step, step.runInput);
  const channelIds = (await channelsOf(deps, orgId, SessionWish.parse(step.runInput))).map(({ id }) => id);
  const told = {
    ...material,
    channels: await toldChannels(deps, orgId, channelIds),
    kinds: await toldKinds(deps, orgId),
  };
  let faults: readonly string[] = [];
  let before: readonly PlannedStep[] = [];
  for (let n = 0; n < 2; n += 1) {
    const { message, steps } = await ask(
      planQuestion({ ...told, ...(faults.length > 0 && { faults, steps: before }) }),
    );
    const judged = await judgeSteps(deps, step, steps, { channelIds, told: material });
    if ('plan' in judged) return { message, plan: judged.plan };
    [faults, before] = [judged.faults, steps];
  }
  throw new AppError('conflict', `No plan was found that can be executed: ${faults.join(' ')}`);
}

/** Writes the texts of a step, and keeps each as a draft with the files of the steps that it depends on. */
async function makeCopy(
  deps: DesignerDeps,
  step: ClaimedStep,
  { brief, title, channelIds, dependsOn }: PlannedStep,
  { ask, outputOf: outcomeOf, signal }: StepTools,
): Promise<Json> {
  const { orgId, userId } = step;
  if (userId === null) throw new AppError('conflict', 'Whoever asked for this is gone');
  await checkRoomForDrafts(deps, step, channelIds);
  const { messages: said, ...material } = await materialOf(deps, step, step.runInput);
  const files = (await Promise.all(dependsOn.map((name) => outcomeOf(name))))
    .flatMap((made) => StepAssets.parse(made).assets)
    .filter(({ kind }) => kind !== 'draft');
  const named = allowedWords(textsIn([said.filter(({ role }) => role === 'user'), material]));
  const removed = new Set<string>();
  let texts = new Map<string, string>();
  let faulty: string[] = [];
  for (const share of [1, 0.8]) {
    removed.clear(); // of texts that are asked for again
    const channels = await toldChannels(deps, orgId, channelIds, share);
    const { texts: answered } = await ask(
      copyQuestion({ title, brief, ...material, channels, ...(faulty.length > 0 && { tooLong: faulty }) }),
    );
    texts = new Map(
      answered.map(({ channelId, content }) => {
        const { text, removed: foreign } = keepGivenWords(content, named);
        foreign.forEach((one) => removed.add(one));
        return [channelId, text];
      }),
    );
    faulty = await faultsOfTexts(deps, orgId, channelIds, texts);
    if (faulty.length === 0) break;
  }
  if (faulty.length > 0)
    throw new AppError('provider_failed', `The texts were asked for twice, and still: ${faulty.join('; ')}`);
  signal.throwIfAborted();
  const contents = new Map(channelIds.map((id) => [id, draftContent(texts.get(id)!)] as const)); // else one is faulty
  await keepDrafts(deps, { orgId, userId }, { stepId: step.id, texts: contents, files });
  const assets = Array.from(contents.keys(), (channelId): StepAssets['assets'][number] => {
    const id = draftIdOf(step.id, channelId);
    return { id, path: `/posts/${id}`, kind: 'draft' };
  });
  return { assets, removed: [...removed] };
}

/** What is wrong with the texts of channels: missing ones, and those that their network would refuse. */
async function faultsOfTexts(
  deps: DesignerDeps,
  orgId: string,
  channelIds: readonly string[],
  texts: ReadonlyMap<string, string>,
) {
  const faults = await Promise.all(
    channelIds.map(async (id) => {
      const text = texts.get(id) ?? '';
      if (text === '') return `the channel ${id} has no text`;
      const fault = (await limitOfChannel(deps, orgId, id)).faultOf(draftContent(text));
      return fault && `the text of the channel ${id}: ${fault}`;
    }),
  );
  return faults.filter((fault) => fault !== undefined);
}

async function makeFile(
  deps: DesignerDeps,
  step: ClaimedStep,
  planned: PlannedStep,
  { make, outputOf: outcomeOf }: StepTools,
): Promise<Json> {
  const asked = await requestOfStep(deps, step.orgId, planned);
  const before = (await Promise.all(planned.dependsOn.map((name) => outcomeOf(name)))).flatMap(
    (made) => StepAssets.parse(made).assets,
  );
  const sources = before.filter(({ kind }) => kind !== 'draft').map(({ id }) => id);
  return madeOf(await make({ ...asked, request: { ...asked.request, sources } }));
}

const madeOf = ({ files }: ShownJob): StepAssets => ({
  assets: files.map(({ id, path, kind }) => ({ id, path, kind: kind === 'video' ? 'video' : 'image' })),
  removed: [],
});

async function endPlanning(deps: DesignerDeps, sql: Sql, run: RunRow, [step]: readonly StepRow[]): Promise<RoundEnd> {
  if (step!.state !== 'done') return { state: 'failed', error: step!.error ?? 'The plan could not be made' };
  const { message, plan } = step!.output as { message: string; plan: DesignPlan }; // as `makePlan` wrote it
  await say(deps, sql, run, message);
  await deps.runs.change(sql, run, { event: { kind: 'plan', data: plan }, output: { ...outputOf(run), plan } });
  return { state: 'awaiting_plan' };
}

const MOST_NAMED = 20;
/** Names what was removed from texts: a draft says nothing of it. */
function sentenceOfRemoved(removed: readonly string[]): string[] {
  if (removed.length === 0) return [];
  const named = removed.slice(0, MOST_NAMED).map((word) => (word.length > 200 ? `${word.slice(0, 199)}…` : word));
  const more = removed.length > named.length ? ` and ${removed.length - named.length} more` : '';
  return [`Removed from the drafts, as nobody gave it: ${named.join(', ')}${more}`];
}

async function endExecuting(deps: DesignerDeps, sql: Sql, run: RunRow, steps: readonly StepRow[]): Promise<RoundEnd> {
  const missed = steps
    .filter(({ state }) => state !== 'done')
    .map(({ name, state, error }) => `${name} (${state}): ${error ?? ''}`);
  const made = assetsOf(steps).length;
  const told = [
    ...(missed.length > 0 ? [`Made: ${made}. Not made: ${missed.join('; ')}`] : []),
    ...sentenceOfRemoved(removedOf(steps)),
  ];
  if (told.length > 0) await say(deps, sql, run, told.join('\n'));
  if (made > 0 || missed.length === 0) return { state: 'completed' };
  return {
    state: 'failed',
    error: steps.find(({ state }) => state === 'failed')?.error ?? 'No step was done in its time',
  };
}
