import type { PostQuota } from '../../../entitlements/index.ts';
import { AppError, type FieldError, invalidField, limitExceeded, notFound } from '../../../platform/kernel/index.ts';
import type { ThreadVerdict } from './thread.ts';

/** What whoever asked for a change is told, by its verdict. */
export const REFUSALS: Record<Exclude<ThreadVerdict, 'done' | 'unjudged'>, () => AppError> = {
  not_found: () => notFound('Post not found'),
  published: () => new AppError('already_published', 'The post is published already'),
  in_flight: () => new AppError('conflict', 'The post is being published: try again when it has settled'),
  undecided: () =>
    new AppError(
      'conflict',
      'The outcome of the last attempt is unknown: check the network, then retry with confirm, or name the release id',
    ),
  stale: () => new AppError('conflict', 'The post was changed meanwhile: load it again'),
  disabled: () => new AppError('invalid_request', 'Integration is disabled'),
  not_failed: () => new AppError('conflict', 'The post is in a state that does not allow this'),
  not_awaiting: () => new AppError('conflict', 'The post does not wait for approval'),
  not_draft: () => new AppError('conflict', 'Only a draft can wait for approval'),
  changed: () => new AppError('conflict', 'The post was changed since its contentHash was read: look at it again'),
  braked: () =>
    new AppError('conflict', 'A brake holds the post by its group or its campaign: resume that before it leaves'),
  over_limit: () =>
    new AppError(
      'limit_exceeded',
      'The plan has no room for this post: while it waits it goes on by itself when there is some, later make a new one',
    ),
  repeated: () =>
    new AppError('conflict', 'The series goes on with another post already: change how that one recurs', {
      errors: [{ field: 'recurrence', message: 'another post of the series waits already', rule: 'repeated' }],
    }),
  ended: () => seriesFault('date'),
  too_old: () => pastDate('date'),
};

/** 400 for a date that is too long ago to be meant (S104). */
export const pastDate = (field: string, message = 'is more than a day ago'): AppError =>
  new AppError('date_in_past', `The date ${message}`, { errors: [{ field, message, rule: 'date' }] });

/** 400 for a date behind the end of the rule by which its post recurs. */
export const seriesFault = (field: string): AppError =>
  invalidField(field, 'is behind the end (until) of its series: change recurrence, too', 'no_dates');

/** Why the post of this field cannot be changed now. */
export function refusalOfEdit(verdict: 'published' | 'in_flight' | 'undecided' | 'braked', field: string): AppError {
  const { code, message } = REFUSALS[verdict]();
  return new AppError(code, message, { errors: [{ field, message, rule: code }] });
}

/** What a change has made. Throws why it was refused; `quota`: the room that the plan has for posts, where it is known. */
export function checkDone<F extends { verdict: ThreadVerdict }>(
  found: F | undefined,
  quota?: Pick<PostQuota, 'max'>,
): F {
  if (!found) throw REFUSALS.not_found();
  if (found.verdict === 'done') return found;
  if (found.verdict === 'over_limit' && quota) throw limitExceeded('posts_per_month', quota.max);
  throw found.verdict === 'unjudged'
    ? new Error('A post was scheduled without being judged')
    : REFUSALS[found.verdict]();
}

/** The first of several refusals, with the faults of all of them (S6); undefined without one. */
export function firstOf([first, ...others]: readonly AppError[]): AppError | undefined {
  if (!first || others.length === 0) return first;
  const faults = new Map([first, ...others].flatMap(faultsOf).map((fault) => [JSON.stringify(fault), fault]));
  return new AppError(first.code, first.message, { ...first.extra, errors: [...faults.values()] });
}

/** Checks that are all made, so that a refusal names the fields of every fault (S6). */
export interface Checks {
  /** In the order in which they came. */
  refusals: readonly AppError[];
  /** Answers what the check does; undefined where it refuses. Anything but an `AppError` is thrown at once. */
  take<T>(check: () => T): T | undefined;
  /** The same of a check that has begun. */
  settle<T>(check: Promise<T>): Promise<T | undefined>;
  refuse(...faults: readonly AppError[]): void;
  /** Throws the first refusal, with the faults of all. */
  end(): void;
}
export function openChecks(): Checks {
  const refusals: AppError[] = [];
  function note(error: unknown): undefined {
    if (!(error instanceof AppError)) throw error;
    refusals.push(error);
  }
  return {
    refusals,
    take(check) {
      try {
        return check();
      } catch (error) {
        return note(error);
      }
    },
    settle: (check) => check.catch(note),
    refuse: (...faults) => void refusals.push(...faults),
    end() {
      const refusal = firstOf(refusals);
      if (refusal) throw refusal;
    },
  };
}

/** Every fault that an error names, by field. */
export const faultsOf = ({ extra, message, code }: AppError): FieldError[] =>
  // as `AppError` keeps them
  (extra['errors'] as FieldError[] | undefined) ?? [{ field: '', message, rule: code }];
