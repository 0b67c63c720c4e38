import { z } from 'zod';
import { storableJson } from '../../platform/content/index.ts';
import type { Json, Sql } from '../../platform/db/index.ts';
import { AppError, newId, ProviderError } from '../../platform/kernel/index.ts';
import { redactText } from '../../platform/telemetry/index.ts';
import type { Ai, ObjectRequest } from '../../providers/registry/index.ts';
import type { CallKey } from '../budget/index.ts';
import { type AiCandidate, firstAnswer } from '../models/index.ts';
import { type RunStepRow, setReservation } from './claim-store.ts';
import type { Question } from './contract.ts';
import type { RunsDeps } from './deps.ts';
import { MOST_LOST, MOST_PAUSES, pauseMs, tracedText } from './rules.ts';
import { insertTrace, type NewTrace } from './traces.ts';

type Deps = Pick<RunsDeps, 'sql' | 'clock' | 'budget' | 'models' | 'providers'>;
type ObjectAnswer = Awaited<ReturnType<Ai['object']>>;
/** A call that has ended: its settlement and trace are written with what follows. */
export interface UnsettledCall {
  /** There was no answer, and the step does not stand for the call any more. */
  failed?: { isLost: boolean };
  /** Sends its statements at once; what is spent is locked last. */
  settle(sql: Sql): Promise<unknown>;
}

/** Writes what a call has left behind, for a step that goes on or is done again. */
export async function writeUnsettled(sql: Sql, step: RunStepRow, { failed, settle }: UnsettledCall): Promise<void> {
  // also of an answer that came: whoever does the step again would take what stands there for a lost one
  await Promise.all([setReservation(sql, step, { ref: null, isLost: failed?.isLost ?? false }), settle(sql)]);
}

/** Said by whatever finds that the step belongs to somebody else by now. */
export class ClaimLost extends Error {}

/** Asks by `step`, one question after another; `unsettled` holds what its last call left to be written. */
export function openAsk(deps: Deps, step: RunStepRow, signal: AbortSignal) {
  let unsettled: UnsettledCall | undefined;
  let kept: Json | undefined;
  const takeUnsettled = (): UnsettledCall | undefined => {
    const one = unsettled;
    unsettled = undefined;
    return one;
  };
  const flush = async () => {
    const left = takeUnsettled();
    if (left) await deps.sql.begin((tx) => writeUnsettled(tx, step, left));
  };

  async function call(candidate: AiCandidate, question: Question<unknown>): Promise<ObjectAnswer> {
    signal.throwIfAborted();
    const { adapter, use, model, settingId } = candidate;
    const ai = deps.providers.ai(adapter, use);
    const later = { settingId, callIds: [] as string[] };
    const named = (id: string) => void later.callIds.push(id);
    const request = { ...requestOf(question, model), ...(ai.costOf && { named }) };
    const key: CallKey = { orgId: step.orgId, ref: newId() };
    const micros = ai.estimate(request)?.micros;
    const before = takeUnsettled();
    const { orgId, ref } = key;
    await deps.sql
      .begin(async (tx) => {
        // sent one behind the other without a wait between them
        const [isHeld] = await Promise.all([
          setReservation(tx, step, { ref, isLost: before?.failed?.isLost ?? false, kept }),
          before?.settle(tx),
          deps.budget.reserve(tx, {
            orgId,
            ref,
            userId: step.userId,
            domain: 'ai',
            providerId: adapter.id,
            model,
            micros,
          }),
        ]);
        if (!isHeld) throw new ClaimLost();
      })
      .catch((error: unknown) => {
        unsettled = before; // what was undone is still to be written
        throw error;
      });
    const trace: Omit<NewTrace, 'ended' | 'endedAt' | 'model'> = {
      id: key.ref,
      orgId: step.orgId,
      userId: step.userId,
      runId: step.runId,
      step: step.name,
      providerId: adapter.id,
      promptVersion: question.promptVersion,
      input: tracedText(redactText(`${question.instruction}\n\n${question.data}`)),
      beganAt: deps.clock.now(),
    };
    try {
      const answer = await ai.object(request, signal);
      const ended = { ...trace, model: answer.model, ended: answer.end, endedAt: deps.clock.now() };
      const traced = {
        ...ended,
        usage: answer.usage,
        micros: answer.cost?.micros,
        output: tracedText(redactText(JSON.stringify(answer.object) ?? '')),
      };
      unsettled = {
        settle: (tx) => Promise.all([insertTrace(tx, traced), deps.budget.settle(tx, key, answer.cost, { later })]),
      };
      return answer;
    } catch (error) {
      const failure = error instanceof ProviderError ? error.failure : signal.aborted ? 'aborted' : 'refused';
      const isFree =
        !signal.aborted && (error instanceof ProviderError ? failure !== 'lost' : error instanceof AppError);
      const ended = { ...trace, model, ended: failure, endedAt: deps.clock.now() };
      const pay = (tx: Sql) =>
        isFree ? deps.budget.release(tx, key) : deps.budget.settle(tx, key, undefined, { marked: true, later });
      unsettled = {
        failed: { isLost: failure === 'lost' },
        settle: (tx) => Promise.all([insertTrace(tx, ended), pay(tx)]),
      };
      throw error;
    }
  }

  async function ask<T>(question: Question<T>): Promise<T> {
    const candidates = await deps.models.resolveAi(step.orgId, { purpose: 'text' });
    for (let pauses = 0; ; pauses += 1) {
      try {
        const answer = await firstAnswer(candidates, (candidate) => call(candidate, question));
        const judged = question.form.safeParse(storableJson(answer.object));
        if (judged.success) return judged.data;
        throw new AppError('provider_failed', WRONG[answer.end] ?? 'The model answered nothing of the form asked for', {
          failure: 'rejected',
        });
      } catch (error) {
        const { failure, retryAfterMs } = (error instanceof AppError ? error.extra : {}) as {
          failure?: string;
          retryAfterMs?: number;
        };
        if (failure === 'lost' && step.lost < MOST_LOST) {
          step.lost += 1;
          continue;
        }
        if ((failure !== 'rate_limited' && failure !== 'unavailable') || pauses >= MOST_PAUSES) throw error;
        await flush(); // the money is free while it waits
        await deps.clock.sleep(pauseMs(pauses, retryAfterMs), signal);
      }
    }
  }
  return { ask, takeUnsettled, keep: (output: Json) => void (kept = output) };
}

const requestOf = ({ instruction, data, maxTokens, form }: Question<unknown>, model: string): ObjectRequest => ({
  model,
  instruction,
  turns: [{ role: 'user', parts: [{ type: 'text', text: data }] }],
  maxTokens,
  schema: schemaOf(form),
});

const schemas = new WeakMap<z.ZodType, ObjectRequest['schema']>();
/** The same object for the same form: what is made of it further on is kept with it. */
function schemaOf(form: z.ZodType): ObjectRequest['schema'] {
  const made = schemas.get(form) ?? z.toJSONSchema(form);
  schemas.set(form, made);
  return made;
}

/** What a question would cost at most, and who would be asked first. @throws AppError 400 where nobody is set up */
export async function quoteQuestion(
  { models, providers }: Pick<Deps, 'models' | 'providers'>,
  orgId: string,
  question: Question<unknown>,
) {
  const [first] = await models.resolveAi(orgId, { purpose: 'text' });
  const { adapter, use, model } = first!; // it throws where there is none
  const micros = providers.ai(adapter, use).estimate(requestOf(question, model))?.micros;
  return { domain: 'ai' as const, providerId: adapter.id, model, micros };
}

const WRONG: Readonly<Record<string, string>> = {
  length: 'The model ended its answer before it was whole: it was too long',
  filter: 'The filter of the model refused to answer',
};
