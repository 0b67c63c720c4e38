import type { Fragment, Sql } from '../../platform/db/index.ts';
import type { CostSource, MediaHandle, MediaOperation, MediaOutput, Segment } from '../../providers/registry/index.ts';
import type { AskedJob, JobState } from './rules.ts';

/** By whose key which provider does a job. */
export type JobProvider = {
  providerId: string;
  version: string;
  settingId: string | null;
  /** The setting is the organization's own, and not one of the instance. */
  ownSetting: boolean;
  model: string | null;
};
/** A result that lies at the provider. */
export type RemoteOutput = Extract<MediaOutput, { url: string }>;

/** The limit that had no room for what a job has made. */
export type ExceededLimit = { limit: string; max: number };

/** A job as people see it. */
export interface JobRow {
  id: string;
  orgId: string;
  userId: string | null;
  operation: MediaOperation;
  providerId: string;
  version: string;
  model: string | null;
  state: JobState;
  isCancelling: boolean;
  progress: number | null;
  /** When its provider last said that it goes on. */
  polledAt: Date | null;
  fileIds: readonly string[];
  costMicros: number | null;
  costSource: CostSource | null;
  errorCode: string | null;
  error: string | null;
  /** Of `limit_exceeded`. */
  exceeded: ExceededLimit | null;
  /** Whether the reservation of its cost is over. */
  isSettled: boolean;
  createdAt: Date;
  endedAt: Date | null;
}

/** A step of a job that this process has claimed. */
export interface ClaimedJob extends JobProvider {
  id: string;
  orgId: string;
  userId: string | null;
  programId: string | null;
  operation: MediaOperation;
  state: JobState;
  request: AskedJob;
  fallbacks: readonly JobProvider[];
  reservation: string;
  isExport: boolean;
  isSettled: boolean;
  attempt: number;
  claim: number;
  submittedAt: Date;
  /** Of a queued one: its submit has not left. Otherwise its answer is missing. */
  isSubmit: boolean;
  handle: MediaHandle | null;
  outputs: readonly RemoteOutput[] | null;
  segments: readonly Segment[] | null;
  fileIds: readonly string[];
  costMicros: number | null;
  tries: number;
  isOverdue: boolean;
  isCancelling: boolean;
}

export const jobColumns = (sql: Sql): Fragment => sql`
  j.id, j.org_id as "orgId", j.user_id as "userId", j.operation, j.provider_id as "providerId",
  j.provider_version as version, j.model, j.state, j.cancel_asked_at is not null as "isCancelling", j.progress,
  j.polled_at as "polledAt", j.file_ids as "fileIds", j.cost_micros::float8 as "costMicros", j.cost_source as "costSource",
  j.error_code as "errorCode", j.error, j.exceeded, j.settled_at is not null as "isSettled",
  j.created_at as "createdAt", j.ended_at as "endedAt"`;

export const claimedJobColumns = (sql: Sql): Fragment => sql`
  j.id, j.org_id as "orgId", j.user_id as "userId", j.program_id as "programId", j.operation, j.state, j.request, j.fallbacks, j.reservation,
  j.provider_id as "providerId", j.provider_version as version, j.setting_id as "settingId",
  j.own_setting as "ownSetting", j.model, j.is_export as "isExport", j.settled_at is not null as "isSettled",
  j.attempt, j.claim, j.submitted_at as "submittedAt", j.sent_at is null as "isSubmit", j.handle, j.outputs,
  j.segments, j.file_ids as "fileIds", j.cost_micros::float8 as "costMicros", j.tries,
  coalesce(j.deadline_at <= now(), false) as "isOverdue", j.cancel_asked_at is not null as "isCancelling"`;
