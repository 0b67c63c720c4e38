import { z } from 'zod';
import { DesignPlan, type DesignerSession, SESSION_STATES } from '../../../src/studio/designer/index.ts';
import { type RunEvent, STEP_STATES, type TraceRow } from '../../../src/studio/runs/index.ts';
import { instant } from '../../http/fields.ts';
import type { ServerEvent } from '../../http/server-events.ts';

/** A session of the designer (S191), with the states of the steps of its plan. */
export const Session = z.strictObject({
  id: z.string(),
  state: z.enum(SESSION_STATES),
  messages: z.array(z.strictObject({ role: z.enum(['user', 'assistant']), content: z.string(), at: instant })),
  plan: DesignPlan.nullable(),
  steps: z.array(z.strictObject({ id: z.string(), state: z.enum(STEP_STATES), error: z.string().nullable() })),
  assets: z.array(z.strictObject({ id: z.string(), path: z.string(), kind: z.enum(['image', 'video', 'draft']) })),
  error: z.string().nullable(),
  createdAt: instant,
  updatedAt: instant,
});
export const presentSession = ({
  id,
  state,
  messages,
  plan,
  steps,
  assets,
  error,
  createdAt,
  updatedAt,
}: DesignerSession): z.input<typeof Session> => ({
  id,
  state,
  messages: messages.map(({ role, content, at }) => ({ role, content, at: at.toISOString() })),
  plan,
  steps: steps.map((step) => ({ id: step.name, state: step.state, error: step.error })),
  assets: [...assets],
  error,
  createdAt: createdAt.toISOString(),
  updatedAt: updatedAt.toISOString(),
});

/** A step of a run as `EventSource` hears it. */
export const presentRunEvent = (event: RunEvent): ServerEvent =>
  event === 'alive' ? { comment: 'nothing new' } : { event: event.kind, id: String(event.n), data: event.data };

/** A call of a language model in a run. */
export const Trace = z.strictObject({
  id: z.string(),
  run: z.string(),
  step: z.string(),
  providerId: z.string(),
  model: z.string(),
  promptVersion: z.string(),
  inputTokens: z.int().nullable(),
  outputTokens: z.int().nullable(),
  costMicros: z.number().nullable(),
  ended: z.string(),
  input: z.string(),
  output: z.string().nullable(),
  beganAt: instant,
  endedAt: instant,
});
export const presentTrace = ({ runId, beganAt, endedAt, ...trace }: TraceRow): z.input<typeof Trace> => ({
  id: trace.id,
  run: runId,
  step: trace.step,
  providerId: trace.providerId,
  model: trace.model,
  promptVersion: trace.promptVersion,
  inputTokens: trace.inputTokens,
  outputTokens: trace.outputTokens,
  costMicros: trace.costMicros,
  ended: trace.ended,
  input: trace.input,
  output: trace.output,
  beganAt: beganAt.toISOString(),
  endedAt: endedAt.toISOString(),
});
