import { AppError } from '../../platform/kernel/index.ts';
import type { NewMedia } from '../media-jobs/index.ts';
import type { DesignerDeps } from './deps.ts';
import { type DesignPlan, faultsOfPlan, type PlannedStep, designPlanOf, sourcesOf } from './plan.ts';
import { copyEstimate } from './words.ts';

type Needs = Pick<DesignerDeps, 'runs' | 'mediaJobs' | 'budget'>;

/** The request of a step that makes a file. */
export async function requestOfStep(
  { mediaJobs }: Pick<DesignerDeps, 'mediaJobs'>,
  orgId: string,
  { kind, brief, size }: PlannedStep,
): Promise<Pick<NewMedia, 'operation'> & { request: Omit<NewMedia['request'], 'sources'> }> {
  const operation = kind as 'image' | 'video' | 'edit'; // a copy makes no file
  const takes = await mediaJobs.takes(orgId, operation);
  const seconds = takes?.seconds;
  const shortest = seconds && ('from' in seconds ? seconds.from : Math.min(...seconds));
  return {
    operation,
    request: {
      prompt: brief,
      ...(size !== null && (takes?.ratios?.includes(size) ? { ratio: size } : { size })),
      ...(shortest !== undefined && { seconds: shortest }),
    },
  };
}

/** The greatest costs of steps; throws what no provider takes, with the step that asks for it. */
function quotesOf(deps: Needs, orgId: string, steps: readonly PlannedStep[], told: object) {
  return Promise.all(
    steps.map(async (step) => {
      try {
        if (step.kind === 'copy') return await deps.runs.quote(orgId, copyEstimate(step, told));
        const asked = await requestOfStep(deps, orgId, step);
        const sources = sourcesOf(step, steps);
        return await deps.mediaJobs.quote(orgId, { ...asked, request: { ...asked.request, sources: [] }, sources });
      } catch (error) {
        if (error instanceof AppError && error.status === 400)
          throw new AppError(error.code, `${step.id}: ${error.message}`);
        throw error;
      }
    }),
  );
}

/** Refuses, with 402, a plan that the budget has no room for. */
export async function checkBudget(
  deps: Needs,
  { orgId, userId }: { orgId: string; userId: string | null },
  steps: readonly PlannedStep[],
  told: object,
): Promise<number[]> {
  const quotes = await quotesOf(deps, orgId, steps, told);
  await deps.budget.checkRoomFor(quotes.map((quote) => ({ ...quote, orgId, userId })));
  return quotes.map(({ micros }) => micros ?? 0);
}

/** Judges steps: a plan, or what is wrong with them. */
export async function judgeSteps(
  deps: Needs,
  owner: { orgId: string; userId: string | null },
  steps: readonly PlannedStep[],
  { channelIds, told }: { channelIds: readonly string[]; told: object },
): Promise<{ plan: DesignPlan } | { faults: string[] }> {
  const faults = faultsOfPlan(steps, new Set(channelIds));
  if (faults.length > 0) return { faults };
  try {
    return { plan: designPlanOf(steps, await checkBudget(deps, owner, steps, told)) };
  } catch (error) {
    if (error instanceof AppError && error.status < 500) return { faults: [error.message] };
    throw error;
  }
}
