import { markupIn } from '../../../platform/content/index.ts';
import { AppError, type FieldError, invalidField, judge, validationFailed } from '../../../platform/kernel/index.ts';
import type { PostsDeps } from '../deps.ts';
import { CreateBody, type SentBody, readBody } from './body.ts';
import { judgeBodies, type JudgedBody, type JudgedElement } from './judgement.ts';
import type { AskedBody, findOutlooks } from './outlook.ts';
import { faultsOf } from './verdict.ts';
import { type Warning, warningsOf } from './warnings.ts';

// The rows of a plan: each is judged for itself, and those that are valid are warned of together.

type Needs = Pick<PostsDeps, 'sql' | 'clock' | 'channels' | 'media' | 'profiles'>;

/** Signs of markup that all rows may have together: reading them is what a plan costs. */
const MOST_MARKUP = 40_000;
/** Faults of a row that are told. */
const MOST_ERRORS = 10;
/** Posts of a plan that are warned of: each is compared with the others. */
const MOST_WARNED = 2_000;

export interface JudgedRow {
  index: number;
  sent: SentBody | undefined;
  judged: JudgedBody | undefined;
  errors: FieldError[];
}

/** Judges each row for itself: one that is not readable spoils no other. */
export async function judgeRows(
  deps: Needs,
  orgId: string,
  rows: readonly { index: number; body: unknown }[],
  userId: string,
): Promise<JudgedRow[]> {
  const read = rows.map(({ index, body }) => ({ index, ...readRow(body) }));
  checkMarkup(read.flatMap(({ sent }) => sent ?? []));
  const clean = read.map(({ index, sent, errors }) => ({ index, sent, errors, ...(sent && cleanRow(sent)) }));
  const bodies = clean.flatMap(({ body }) => body ?? []);
  const judged = bodies.length === 0 ? [] : await judgeBodies(deps, orgId, bodies, userId);
  const byBody = new Map(judged.map((one) => [one.body, one]));
  return clean.map(({ index, sent, body, errors = [] }) => {
    const one = body && byBody.get(body);
    const faults = one ? [...errors, ...faultsOfRow(one)] : errors;
    return { index, sent, judged: one, errors: faults.slice(0, MOST_ERRORS) };
  });
}

function readRow(body: unknown): { sent?: SentBody; errors?: FieldError[] } {
  const { data, errors } = judge(CreateBody, body);
  return errors ? { errors: faultsOf(validationFailed(errors)) } : { sent: data };
}

function checkMarkup(bodies: readonly SentBody[]): void {
  let markup = 0;
  for (const { posts } of bodies)
    for (const { value } of posts) for (const { content } of value) markup += markupIn(content);
  if (markup > MOST_MARKUP)
    throw invalidField('items', `have more than ${MOST_MARKUP} tags and entities together`, 'too_big');
}

function cleanRow(sent: SentBody): { body?: CreateBody; errors?: FieldError[] } {
  try {
    return { body: readBody(sent) };
  } catch (error) {
    if (error instanceof AppError) return { errors: faultsOf(error) };
    throw error;
  }
}

/** A plan makes posts: what is there already is edited for itself. */
const faultsOfRow = ({ body, elements }: JudgedBody): FieldError[] => [
  ...elements.flatMap(({ faults }) => faults.flatMap(faultsOf)),
  ...elements.flatMap(({ root }, n) =>
    root && body.type !== 'update'
      ? faultsOf(invalidField(`posts.${n}.value.0.id`, 'names a post that is there: rows make new ones', 'exists'))
      : [],
  ),
  ...(body.type === 'update' ? faultsOf(invalidField('type', 'must be draft, schedule or now', 'invalid_value')) : []),
];

/** The valid rows, which are stored together, up to the number of posts that are compared. */
export function toWarnOf(rows: readonly JudgedRow[]): AskedBody[] {
  let posts = 0;
  return rows.flatMap(({ sent, judged, errors }) => {
    if (!sent || !judged || errors.length > 0) return [];
    posts += judged.elements.length;
    return posts > MOST_WARNED ? [] : { ...judged, sent };
  });
}

/** Of a row beyond them. */
const NOT_COMPARED: Warning = {
  code: 'not_compared',
  message: `Only the first ${MOST_WARNED} posts of a plan are looked at for warnings: this row is behind them`,
};

/** What is said of several posts of a row alike is said once. */
export function warningsOfRow(
  elements: readonly JudgedElement[],
  outlooks: Awaited<ReturnType<typeof findOutlooks>>,
): Warning[] {
  const found = elements.flatMap((element) => outlooks.get(element) ?? []);
  if (found.length < elements.length) return [NOT_COMPARED];
  return [...new Map(found.flatMap(warningsOf).map((warning) => [warning.message, warning])).values()];
}
