import {
  AppError,
  type FieldError,
  idFrom,
  invalidField,
  newId,
  sha256Hex,
  validationFailed,
} from '../../platform/kernel/index.ts';
import {
  type AskedMedia,
  checkMediaRequest,
  type MediaOperation,
  type MediaService,
  type SourceFile,
  type Takes,
  takesOf,
} from '../../providers/registry/index.ts';
import { keepAnswer, type KeptAnswer, type KeyClaim } from '../../platform/db/index.ts';
import type { MediaCandidate, WantedModel } from '../models/index.ts';
import type { MediaJobsDeps } from './deps.ts';
import type { JobProvider, JobRow } from './row.ts';
import { type AskedJob, isVideoExport, RESERVED_MS, LONGEST_QUEUE_MS, MOST_QUEUED } from './rules.ts';
import type { ShownJob } from './results.ts';
import * as store from './store.ts';

/**
 * What somebody asks for. `at` names the place of the request in a body, such as `customParams.`, and `names` the fields
 * that a body calls otherwise.
 */
export interface NewMedia extends WantedModel {
  /** Made by the caller where it may ask twice: a job that is there already is answered, and nothing made. */
  id?: string;
  operation: MediaOperation;
  request: Given<Omit<AskedJob, 'sources'>> & Pick<AskedJob, 'sources'>;
  at?: string;
  names?: Readonly<Record<string, string>>;
}
type Given<T> = { [Key in keyof T]?: T[Key] | undefined };
export interface JobOwner {
  orgId: string;
  userId: string;
  /** The key or approval of a program that may spend only so much a day. */
  programId?: string | undefined;
}
type Deps = Pick<MediaJobsDeps, 'sql' | 'clock' | 'billing' | 'budget' | 'models' | 'media' | 'providers' | 'wake'>;

const RETRY_MS = 60_000;

/**
 * Writes a job down, with the reservation of its greatest cost and, for a video, a video export; a worker submits it.
 * Nothing is asked of a provider here.
 *
 * @throws AppError 400 for what no provider that is set up takes, 402 at a limit, 429 where too many wait
 */
export async function createJob(
  deps: Deps,
  { orgId, userId, programId }: JobOwner,
  wanted: NewMedia,
  kept?: KeptAnswer<ShownJob>,
): Promise<JobRow> {
  const { operation, at = '', id = newId() } = wanted;
  const known = wanted.id === undefined ? undefined : await store.findJob(deps.sql, orgId, id);
  if (known) return known;
  const given = Object.entries(wanted.request).filter(([, value]) => value !== undefined);
  const request = Object.fromEntries(given) as AskedJob; // the same without what is absent
  const candidates = await deps.models.resolveMedia(orgId, wanted);
  const { sources, able } = await checked(deps, orgId, candidates, { operation, request, at }).catch(
    (error: unknown) => {
      throw renamed(error, wanted.names ?? {});
    },
  );
  const [first, ...others] = able as [MediaCandidate, ...MediaCandidate[]]; // else the check has thrown
  await deps.media.made.expectStorage(orgId);
  const provider = providerOf(first);
  const service = deps.providers.mediaService(first.adapter, first.use);
  const estimateMicros = estimateOf(service, { operation, request, model: first.model }, sources);
  const job: store.NewJob = {
    ...provider,
    id,
    orgId,
    userId,
    programId: programId ?? null,
    operation,
    request,
    inputHash: sha256Hex(JSON.stringify([operation, provider.providerId, provider.model, request])),
    fallbacks: others.map(providerOf),
    reservation: newId(),
    estimateMicros,
    isExport: isVideoExport(operation, sources),
    queueMs: LONGEST_QUEUE_MS,
  };
  const row = await deps.sql.begin(async (tx) => {
    if (job.isExport) await deps.billing.takeExport(tx, orgId, id);
    await deps.budget.reserve(tx, reservationOf(job));
    if ((await store.countQueuedJobs(tx, orgId)) >= MOST_QUEUED)
      throw new AppError('rate_limited', `${MOST_QUEUED} media jobs wait already: let some of them end first`, {
        retryAfterMs: RETRY_MS,
      });
    const inserted = await store.insertJob(tx, job);
    await keepAnswer(tx, kept, { job: inserted, files: [] });
    return inserted;
  });
  deps.wake();
  return row;
}

/** A request that is repeated under its key means the same job for so long. */
const SAME_MS = 24 * 3_600_000;
/** Jobs of one key that failed, after which a further try is a job that nobody finds again. */
const MOST_TRIES = 20;

/**
 * Creates a job under the key of its request: where it is repeated, since its answer was lost, the job that is there is
 * answered. One that has failed is made anew; one whose answer is missing is not, nor one that somebody has cancelled.
 */
export async function createJobOnce(deps: Deps, owner: JobOwner, wanted: NewMedia, key: KeyClaim): Promise<JobRow> {
  const name = JSON.stringify([key.orgId, key.scope, key.key, wanted]);
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const id = idFrom(`${name} ${tries}`);
    const known = await store.findJob(deps.sql, owner.orgId, id);
    if (!known) return createJob(deps, owner, { ...wanted, id });
    if (known.state !== 'failed' && deps.clock.now().getTime() - known.createdAt.getTime() < SAME_MS) return known;
  }
  return createJob(deps, owner, wanted);
}

/** The greatest cost of a request, if there is a price. */
export const estimateOf = (
  service: Pick<MediaService, 'estimate'>,
  { operation, request, model }: { operation: MediaOperation; request: AskedJob; model: string | null },
  sources: readonly SourceFile[],
): number | undefined => service.estimate({ ...request, operation, model, sources })?.micros;

/** What a job would cost at most, and who would do it; `sources` are files that are not made yet. */
export interface MediaQuote {
  domain: 'media';
  providerId: string;
  model: string | null;
  micros: number | undefined;
}

/**
 * Judges a request before the files that it starts from are there.
 *
 * @throws AppError 400 for what no provider that is set up takes
 */
export async function quoteJob(
  deps: Pick<Deps, 'models' | 'providers'> & Pick<MediaJobsDeps, 'backendUrl'>,
  orgId: string,
  { operation, request, sources }: Pick<NewMedia, 'operation' | 'request'> & { sources: readonly SourceFile['kind'][] },
): Promise<MediaQuote> {
  const candidates = await deps.models.resolveMedia(orgId, { operation });
  const asked = { ...request, sources: sources.map((kind) => ({ kind, publicUrl: deps.backendUrl }) as SourceFile) };
  const [first] = takingOf(candidates, operation, asked as Omit<AskedMedia, 'operation' | 'model'>, '');
  const { adapter, use, model } = first!; // else the check has thrown
  const cost = deps.providers.mediaService(adapter, use).estimate({ operation, ...asked, model } as Estimated);
  return { domain: 'media', providerId: adapter.id, model, micros: cost?.micros };
}
type Estimated = Parameters<ReturnType<MediaJobsDeps['providers']['mediaService']>['estimate']>[0];

/** What the first provider that is set up for an operation takes; undefined: none is. */
export async function findTakes(
  { models }: Pick<Deps, 'models'>,
  orgId: string,
  operation: MediaOperation,
): Promise<Takes | undefined> {
  try {
    const [first] = await models.resolveMedia(orgId, { operation });
    return first && takesOf(first.adapter, operation, first.model);
  } catch (error) {
    if (error instanceof AppError && error.status === 400) return undefined;
    throw error;
  }
}

/** The files that a request starts from, and the candidates that take it. */
async function checked(
  deps: Pick<Deps, 'media'>,
  orgId: string,
  candidates: readonly MediaCandidate[],
  { operation, request, at }: { operation: MediaOperation; request: AskedJob; at: string },
) {
  const sources = await sourcesOf(deps, orgId, request.sources, at);
  return { sources, able: takingOf(candidates, operation, { ...request, sources }, at) };
}

/** The same faults under the names that the client knows. */
function renamed(error: unknown, names: Readonly<Record<string, string>>): unknown {
  if (!(error instanceof AppError) || !Array.isArray(error.extra['errors'])) return error;
  return validationFailed(
    (error.extra['errors'] as FieldError[]).map(({ field, message, rule }) => {
      const name = names[field] ?? field;
      return {
        field: name,
        message: message.startsWith(`${field}:`) ? name + message.slice(field.length) : message,
        rule,
      };
    }),
  );
}

/** The reservation of a job in the ledger; it is held for as long as a job can last, with the days of an unknown end. */
export const reservationOf = ({
  orgId,
  userId,
  programId,
  providerId,
  model,
  estimateMicros,
  reservation,
}: Pick<store.NewJob, 'orgId' | 'programId' | 'providerId' | 'model' | 'estimateMicros' | 'reservation'> & {
  userId: string | null;
}) => ({
  orgId,
  userId,
  programId,
  domain: 'media' as const,
  providerId,
  model,
  micros: estimateMicros,
  ref: reservation,
  holdMs: RESERVED_MS,
});

const providerOf = ({ adapter, use, model, settingId }: MediaCandidate): JobProvider => ({
  providerId: adapter.id,
  version: adapter.version,
  settingId,
  ownSetting: use.orgId !== null,
  model,
});

/** The files that a request starts from; 400 for one that is not in the library of the organization. */
async function sourcesOf(
  { media }: Pick<Deps, 'media'>,
  orgId: string,
  ids: readonly string[],
  at: string,
): Promise<SourceFile[]> {
  const unread = AbortSignal.abort(); // what they hold is read when the provider is asked
  return Promise.all(
    ids.map(async (id, n) => {
      const file = await media.made.openSource(orgId, id, unread);
      const field = `${at}sources.${n}`;
      if (!file) throw invalidField(field, 'there is no such picture, video or sound', 'unknown_id');
      return file;
    }),
  );
}

/** The candidates that take the request; throws what the first one has against it where none does. */
function takingOf(
  candidates: readonly MediaCandidate[],
  operation: MediaOperation,
  request: Omit<AskedMedia, 'operation' | 'model'>,
  at: string,
): MediaCandidate[] {
  const faults: unknown[] = [];
  const able = candidates.filter(({ adapter, model }) => {
    try {
      checkMediaRequest(adapter, { ...request, operation, model }, at);
      return true;
    } catch (error) {
      faults.push(error);
      return false;
    }
  });
  if (able.length === 0) throw faults[0];
  return able;
}
