import { z } from 'zod';
import { sha256Hex } from '../../platform/kernel/index.ts';
import { faultOfSteps } from '../runs/index.ts';

const STEP_KINDS = ['copy', 'image', 'video', 'edit'] as const;
export type DesignKind = (typeof STEP_KINDS)[number];
const MOST_STEPS = 20;

const line = (most: number) => z.string().trim().min(1).max(most);
/** A step of a plan as the planner writes it: every field is there, as strict providers want it. */
const PlannedStep = z.strictObject({
  id: z.string().regex(/^[a-z0-9][a-z0-9-]{0,39}$/),
  kind: z.enum(STEP_KINDS),
  title: line(200),
  brief: line(4_000),
  channelIds: z.array(z.string().max(64)).max(50),
  size: z.string().max(40).nullable(),
  dependsOn: z.array(z.string().max(40)).max(MOST_STEPS),
});
export type PlannedStep = z.output<typeof PlannedStep>;

/** The answer of the planner. */
export const PlannerAnswer = z.strictObject({
  message: line(2_000),
  steps: z.array(PlannedStep).min(1).max(MOST_STEPS),
});

/** A plan as people approve it. */
export const DesignPlan = z.strictObject({
  steps: z.array(PlannedStep.extend({ estimateCents: z.number() })),
  totalCents: z.number(),
  hash: z.string(),
});
export type DesignPlan = z.output<typeof DesignPlan>;

const PARTS = ['title', 'brief'] as const;
type Steps = Pick<DesignPlan, 'steps'>;
/** The words of a plan that people may change until it is approved: `<step>.title` and `<step>.brief`. */
export const wordsOfPlan = ({ steps }: Steps): Record<string, string> =>
  Object.fromEntries(steps.flatMap((step) => PARTS.map((part) => [`${step.id}.${part}`, step[part]])));

/** The form of these words: those of each step, and no others. */
export const wordsForm = ({ steps }: Steps) =>
  z.strictObject(
    Object.fromEntries(steps.flatMap(({ id }) => PARTS.map((part) => [`${id}.${part}`, PlannedStep.shape[part]]))),
  );

/** The steps of a plan with other words. */
export const withWords = ({ steps }: Steps, words: Readonly<Record<string, string>>): PlannedStep[] =>
  steps.map((priced) => {
    const { estimateCents: _, ...step } = priced;
    const { [`${step.id}.title`]: title = step.title, [`${step.id}.brief`]: brief = step.brief } = words;
    return { ...step, title, brief };
  });

const MICROS_PER_CENT = 10_000;
const centsOf = (micros: number): number => Math.ceil(micros / MICROS_PER_CENT);

/** The plan of checked steps with the greatest cost of each, in millionths of a dollar. */
export function designPlanOf(steps: readonly PlannedStep[], micros: readonly number[]): DesignPlan {
  const priced = steps.map((step, n) => ({ ...step, estimateCents: centsOf(micros[n]!) }));
  return {
    steps: priced,
    totalCents: centsOf(micros.reduce((sum, one) => sum + one, 0)),
    hash: sha256Hex(JSON.stringify(priced)),
  };
}

/** What a step starts from: the kinds of what is made by steps that it depends on. */
export const sourcesOf = (
  { dependsOn }: PlannedStep,
  steps: readonly Pick<PlannedStep, 'id' | 'kind'>[],
): ('image' | 'video')[] =>
  steps.flatMap(({ id, kind }) =>
    kind === 'copy' || !dependsOn.includes(id) ? [] : [kind === 'video' ? ('video' as const) : ('image' as const)],
  );

/** Why steps are no plan, in sentences for the planner; channels that it may name are given. */
export function faultsOfPlan(steps: readonly PlannedStep[], channelIds: ReadonlySet<string>): string[] {
  const order = faultOfSteps(steps.map(({ id, dependsOn }) => ({ name: id, after: dependsOn })));
  if (order !== undefined) return [`The order of the steps: ${order}.`];
  return steps.flatMap((step): string[] => {
    const { id, kind, channelIds: named, size } = step;
    const faults = named.filter((one) => !channelIds.has(one)).map((one) => `${id}: there is no channel ${one}.`);
    if (kind === 'copy' && named.length === 0) faults.push(`${id}: a copy needs at least one channel.`);
    if (kind === 'copy' && size !== null) faults.push(`${id}: a copy has no size.`);
    if (kind === 'edit' && sourcesOf(step, steps).length !== 1)
      faults.push(`${id}: an edit depends on exactly one step that makes a picture or a video.`);
    return faults;
  });
}
