import { keepAnswer, type KeptAnswer } from '../../platform/db/index.ts';
import { AppError, bind, invalidField, newId, type RowPage } from '../../platform/kernel/index.ts';
import { OutboundError } from '../../platform/outbound/index.ts';
import type { PostAuthor } from '../../publishing/posts/index.ts';
import type { NewStep, RunKind, RunRow, StepRow } from '../runs/index.ts';
import { type AgentWork, fitPosts, outlinePosts, readPage, reviewPosts, writePosts } from './agents.ts';
import { assembleDrafts, pipelineEnd } from './assemble.ts';
import { type ContentPipelineDeps, PipelineInput } from './deps.ts';
import { judgeDraft } from './drafts.ts';

const KIND = 'content-pipeline';

/** What is asked for; one of topic and address is there. */
export interface PipelineWish {
  topic?: string | undefined;
  url?: string | undefined;
  channels: readonly string[];
  tone?: string | undefined;
  brandKitId?: string | undefined;
  count: number;
  language?: string | undefined;
}
export type PipelineRun = RunRow & { steps: StepRow[] };
export type BegunPipeline = Pick<PipelineRun, 'id' | 'state'>;

const OF_CHANNEL = /^(write|fit)-(\d+)$/;

/** What the run does step by step: channels are written side by side. */
function stepsOf({ url, channels }: PipelineInput, deadlineMs: number): NewStep[] {
  const step = (name: string, after: string[], anyway = false): NewStep => ({
    name,
    input: {},
    after,
    anyway,
    deadlineMs,
  });
  const fits = channels.map((_, n) => `fit-${n + 1}`);
  return [
    ...(url === null ? [] : [step('read', [])]),
    step('outline', url === null ? [] : ['read']),
    ...channels.map((_, n) => step(`write-${n + 1}`, ['outline'])),
    ...fits.map((name, n) => step(name, [`write-${n + 1}`])),
    step('review', fits, true),
    step('assemble', ['review'], true),
  ];
}

async function workOn(work: AgentWork) {
  const { name } = work.step;
  if (name === 'read') return readPage(work);
  if (name === 'outline') return outlinePosts(work);
  if (name === 'review') return reviewPosts(work);
  const [, task, n] = OF_CHANNEL.exec(name) ?? [];
  if (task === 'write') return writePosts(work, Number(n) - 1);
  if (task === 'fit') return fitPosts(work, Number(n) - 1);
  const outputs = new Map<string, unknown>();
  for (const one of ['read', 'review', ...work.input.channels.map((_, at) => `fit-${at + 1}`)]) {
    const output = await work.tools.outputOf(one, { kept: true });
    if (output !== undefined) outputs.set(one, output);
  }
  return { drafts: assembleDrafts(work.input, outputs).drafts.length };
}

/** The runs of this room, for the engine. */
const kindOf = (deps: ContentPipelineDeps): RunKind => ({
  name: KIND,
  work: (step, tools) => workOn({ deps, step, tools, input: PipelineInput.parse(step.runInput) }),
  endRound: (_, run, steps) => Promise.resolve(pipelineEnd(run, steps)),
});

/**
 * Begins a run that writes drafts for channels.
 *
 * @throws AppError 400 for channels, a brand kit or an address that cannot be used, and where no provider of language
 * models is set up; 402 where the budget is used up
 */
async function beginPipeline(
  deps: ContentPipelineDeps,
  orgId: string,
  author: PostAuthor,
  wish: PipelineWish,
  kept?: KeptAnswer<BegunPipeline>,
): Promise<BegunPipeline> {
  const { sql, runs, timeouts } = deps;
  const input = await inputOf(deps, orgId, author, wish);
  const [candidate] = await deps.models.resolveAi(orgId, { purpose: 'text' });
  const { adapter, model } = candidate!; // else it is refused
  await deps.budget.checkRoomFor([
    { orgId, userId: author.userId, domain: 'ai', providerId: adapter.id, model, micros: 1 }, // for anything at all
  ]);
  const begun = { id: newId(), state: 'running' };
  await sql.begin(async (tx) => {
    await runs.begin(tx, {
      ...begun,
      orgId,
      userId: author.userId,
      kind: KIND,
      input,
      steps: stepsOf(input, timeouts.agentMs),
      deadlineMs: timeouts.totalMs,
    });
    await keepAnswer(tx, kept, begun);
  });
  runs.announce(begun.id);
  return begun;
}

async function inputOf(
  deps: ContentPipelineDeps,
  orgId: string,
  author: PostAuthor,
  { topic, url, tone, language, count, channels, brandKitId }: PipelineWish,
): Promise<PipelineInput> {
  if (url !== undefined) checkUrl(deps, url);
  return {
    topic: topic ?? null,
    url: url ?? null,
    tone: tone ?? null,
    language: language ?? null,
    count,
    channels: await Promise.all(
      channels.map(async (id, n) => {
        const judged = await judgeDraft(deps, orgId, author, { channelId: id, text: 'A text' });
        if (judged.fault && !judged.fault.isOfText)
          throw invalidField(`channels.${n}`, `cannot get drafts from here: ${judged.fault.message}`, 'unsupported');
        return { id, network: judged.providerId!, characters: judged.maximumCharacters };
      }),
    ),
    brand: brandKitId === undefined ? null : await brandOf(deps, orgId, brandKitId),
  };
}

function checkUrl({ outbound }: Pick<ContentPipelineDeps, 'outbound'>, url: string): void {
  try {
    outbound.judge(url);
  } catch (error) {
    throw error instanceof OutboundError ? error.ofField('url') : error;
  }
}

async function brandOf({ brandKits }: ContentPipelineDeps, orgId: string, id: string): Promise<PipelineInput['brand']> {
  const kit = await brandKits.getBrandKit(orgId, id).catch((error: unknown) => {
    if (error instanceof AppError && error.code === 'not_found')
      throw invalidField('brandKitId', 'there is no such brand kit', 'unknown_id');
    throw error;
  });
  const { voice, tone, audience, hashtags, doList, dontList } = kit;
  return { voice, tone, audience, hashtags, doList, dontList };
}

/** @throws AppError `not_found` */
const getPipeline = ({ runs }: Pick<ContentPipelineDeps, 'runs'>, orgId: string, id: string): Promise<PipelineRun> =>
  runs.get({ orgId, id }, KIND);

const listPipelines = (
  { runs }: Pick<ContentPipelineDeps, 'runs'>,
  orgId: string,
  page: { limit: number; cursor?: string | undefined },
): Promise<RowPage<RunRow>> => runs.list(orgId, { ...page, kind: KIND });

/**
 * Ends a run where it stands; what is whole by then is kept. One that has ended stays as it is.
 * @throws AppError `not_found`
 */
async function cancelPipeline(deps: ContentPipelineDeps, orgId: string, id: string): Promise<PipelineRun> {
  const { sql, runs } = deps;
  await getPipeline(deps, orgId, id);
  const stopped = await sql.begin((tx) =>
    runs.stop(tx, { orgId, id }, { from: ['running'], state: 'cancelled', error: 'It was cancelled' }),
  );
  if (stopped) runs.announce(id, { isStopped: true });
  return getPipeline(deps, orgId, id);
}

/** Opens what writes drafts from a topic or a page; it publishes and stores no post. */
export function openContentPipeline(deps: ContentPipelineDeps) {
  deps.runs.add(kindOf(deps));
  return bind(deps, {
    begin: beginPipeline,
    get: getPipeline,
    list: listPipelines,
    cancel: cancelPipeline,
  });
}
