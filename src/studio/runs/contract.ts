import type { z } from 'zod';
import type { Json, Sql } from '../../platform/db/index.ts';
import type { NewMedia, ShownJob } from '../media-jobs/index.ts';

export const STEP_STATES = ['waiting', 'running', 'done', 'failed', 'skipped', 'timed_out', 'cancelled'] as const;
/** `waiting`: for steps before it, or for its turn. `timed_out`: its deadline came first; a media job goes on. */
export type StepState = (typeof STEP_STATES)[number];

export interface RunRef {
  orgId: string;
  id: string;
}

/** A step that is to be done. Its input is data of its kind, which parses it when it works. */
export interface NewStep {
  /** Occurs once in a round. */
  name: string;
  input?: Json;
  /** Steps of the round that end before it begins; where one of them is not done, it is skipped. */
  after?: readonly string[];
  /** It begins also where steps before it were not done. */
  anyway?: boolean;
  /** From its first claim on, whoever works on it. */
  deadlineMs: number;
}

/** A run as its kind and its routes see it. */
export interface RunRow extends RunRef {
  userId: string | null;
  kind: string;
  state: string;
  /** A round of steps is under way. */
  isActive: boolean;
  round: number;
  input: Json;
  output: Json;
  error: string | null;
  createdAt: Date;
  touchedAt: Date;
}
/** A step as its kind and its routes see it. */
export interface StepRow {
  /** Also that of its media job. */
  id: string;
  round: number;
  name: string;
  state: StepState;
  input: Json;
  output: Json;
  error: string | null;
  errorCode: string | null;
}

/** The step that this process works on. */
export interface ClaimedStep extends RunRef {
  /** Of the run; `id` is that of the step. */
  runId: string;
  userId: string | null;
  kind: string;
  round: number;
  name: string;
  input: Json;
  runInput: Json;
}

/** A question to a language model, whose answer is an object of this form. */
export interface Question<T> {
  /** Changes with the words of the question; it stands in traces. */
  promptVersion: string;
  instruction: string;
  /** What people and others wrote: data, sent apart from the instruction. */
  data: string;
  form: z.ZodType<T>;
  maxTokens: number;
}

/** What a step may do; each is conditional on its claim, and ends with its signal. */
export interface StepTools {
  /** Aborted at the deadline, when the run is cancelled, and when the claim is lost. */
  readonly signal: AbortSignal;
  /** Milliseconds until the deadline, when the step was claimed. */
  readonly leftMs: number;
  /** What a step of this round that is done came to; `kept`: else what it kept before it ended otherwise. */
  outputOf(step: string, options?: { kept?: boolean }): Promise<Json | undefined>;
  /**
   * Keeps what the step has come to so far, as its output should it end before it is done. Written in the commit of the
   * next question, so it costs none.
   */
  keep(output: Json): void;
  /**
   * Asks a language model, with reservation, settlement and trace. An answer that was lost is asked for once more; a
   * pause that a provider asks for is kept.
   * @throws AppError where no provider answers, the answer is not of the form, or a cap has no room
   */
  ask<T>(question: Question<T>): Promise<T>;
  /**
   * Has a media job make something, and waits for it. The job has the id of the step, so there is one, whoever works on
   * the step. How far it is, is told as the event `progress`: a run whose job moves is not one in which nothing happens,
   * nor is one whose job goes on by the word of its provider, without a number.
   * @throws AppError what it failed with
   */
  make(wanted: NewMedia): Promise<ShownJob>;
  /** Tells open pages of progress. */
  tell(event: string, data: Json): Promise<void>;
}

/** What becomes of a run when no step of its round is open any more. */
export interface RoundEnd {
  state: string;
  /** Absent: as it was. */
  output?: Json;
  error?: string | null;
}

/** A kind of runs, registered once when rooms open. */
export interface RunKind {
  name: string;
  /**
   * Does a step; answers what it came to. An `AppError` is why it failed; anything else is repeated after its lease, three
   * times. Begun again after a process died, so what it does beside its tools has to be safe to repeat.
   */
  work(step: ClaimedStep, tools: StepTools): Promise<Json>;
  /** Decides in the commit that ends the round, which holds the run locked. */
  endRound(sql: Sql, run: RunRow, steps: readonly StepRow[]): Promise<RoundEnd>;
  /** Hears, in one commit with its event `late`, of a job that ended well after its step had timed out. */
  hearLate?(sql: Sql, run: RunRow, step: StepRow, job: ShownJob): Promise<void>;
}

/** What an open page hears; `alive`: there is nothing new, and the connection goes on. */
export type RunEvent = { n: number; kind: string; data: Json; at: Date } | 'alive';

/** A run that is begun, with its first round. */
export interface NewRun extends RunRef {
  userId: string;
  kind: string;
  state: string;
  input: Json;
  steps: readonly NewStep[];
  /** For the whole round: steps that are open then are timed out. */
  deadlineMs?: number;
}
