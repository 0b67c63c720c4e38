import type { ProviderFailure } from '../../platform/kernel/index.ts';
import type { Cost, CallUsage } from '../kit/declare/cost.ts';
import type { Values } from '../kit/declare/fields.ts';
import type { Call } from '../kit/wire/http.ts';
import type { MediaHandle, MediaOutput, MediaRequest } from './_calls.ts';
import type { MediaLine } from './_contract.ts';

// The record of a provider that takes a job and is asked for it: where things are in bodies.

/** A place in a body: names joined by dots, `*` for each entry of a list; the empty text is the body itself. */
export type Pointer = string;
/** The meanings of a provider's words for the state of a job. */
export type JobState = 'queued' | 'running' | 'succeeded' | 'failed' | 'canceled' | 'rejected';

/** A request with the addresses of the files that it starts from, by kind. */
export interface JobRequest extends MediaRequest {
  images: readonly string[];
  videos: readonly string[];
  sounds: readonly string[];
}

/** The call that starts a job. Values of `keeps` go into the handle, and fill `{name}` in later paths. */
export interface Submit extends Pick<Call, 'json' | 'multipart' | 'query' | 'headers'> {
  path: string;
  keeps?: Readonly<Record<string, string>>;
}

/** One kind of job. The submit's answer is the result where there is no `poll`. */
export interface Job {
  submit(request: JobRequest, ahead: Readonly<Record<string, string>>): Submit;
  /** Calls that come before the submit, such as an upload; answers what it names. */
  before?(line: MediaLine, request: MediaRequest): Promise<Readonly<Record<string, string>>>;
  /** The name of the job in the submit's answer. Default: `id`. */
  id?: Pointer;
  /** Further values of the submit's answer for the handle. */
  keeps?: Readonly<Record<string, Pointer>>;
  /** Path of the question for the state, filled from the handle, or the value of `keeps` that has its whole address. */
  poll?: string | { at: string };
  /** Body of a question that is a POST, with the values of the handle. */
  pollBody?(handle: MediaHandle): object;
  status?: Pointer;
  /** Words for states that `STATES` does not have, or that mean something else here. */
  states?: Readonly<Record<string, JobState>>;
  /** Meaning of an answer without a word for the state. Default: it is not understood. */
  unnamed?: JobState;
  /** Place of the progress, and its value at the end. */
  progress?: readonly [at: Pointer, end: number];
  /**
   * A further call after success, whose answer has the outputs. Values of the last answer fill its path. `judges`: it
   * answers with a status of failure when the job failed after all.
   */
  result?: {
    path: string | { at: string };
    keeps?: Readonly<Record<string, Pointer>>;
    judges?: true;
    /** Headers of the answer, which its reader sees as `headers`. */
    headers?: readonly string[];
  };
  /** Asks what the job cost, of the body of the result; a failure leaves the cost open. */
  bill?(line: MediaLine, handle: MediaHandle, body: unknown): Promise<Cost | undefined>;
  /** Places of the addresses of the outputs; the first that has any counts. */
  outputs: Pointer | readonly Pointer[];
  kind?: MediaOutput['kind'];
  /** Places of the words about a failed job. */
  error?: readonly Pointer[];
  /** Failures of a job by its words, the first that matches. Default: `unavailable`; a job that was refused: `rejected`. */
  failures?: readonly (readonly [RegExp, ProviderFailure])[];
  /** Places of what was used, the first that is there, and how many of it make one unit. */
  usage?: Readonly<Partial<Record<keyof CallUsage, { at: Pointer | readonly Pointer[]; per?: number }>>>;
  /** Price in the submit's or the last answer, how many millionths of a dollar one is, and where the answer names its unit. */
  cost?: { at: Pointer; micros: number; unit?: readonly [at: Pointer, name: string] };
  /** Where the submit names the address that is told of the end, and what goes beside it. */
  callback?: { in: 'json' | 'query'; name: string; json?: object };
  /** The submit has an idempotency key: the provider answers a repeat with the first job. */
  once?: true;
  cancel?: { method: 'post' | 'put' | 'delete'; path: string | { at: string } };
  find?: Find;
}

/** A search for the job of a submit whose answer was lost. */
export type Find = (seeking: {
  line: MediaLine;
  job: Job;
  request: MediaRequest;
  since: Date;
}) => Promise<MediaHandle | undefined>;

/** The jobs of a provider by name; that of an operation has its name. */
export type Jobs = Readonly<Record<string, Job>>;
/** What a provider of jobs has otherwise than most. */
export interface JobQuirks {
  /** Names the job of a request. Default: that of the operation, or the only one. */
  choose?(request: MediaRequest): string;
  /** Domains below which addresses in answers may lie, beside the hosts that are declared. */
  domains?: readonly string[];
  /** Credentials for addresses in answers, which are on hosts that the declared ones do not reach. */
  pollHeaders?(values: Values): Readonly<Record<string, string>>;
  tools?: Readonly<Record<string, JobTool>>;
}
/** A list that an option is chosen from. */
export interface JobTool extends Pick<Call, 'query' | 'json'> {
  path: string;
  list: Pointer;
  id: Pointer;
  label: Pointer;
}
