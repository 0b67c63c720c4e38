import {
  acknowledged,
  type Created,
  type Edited,
  groupBy,
  type History,
  isTaken,
  isUnknown,
  publishing,
  say,
  type Violation,
} from './shape.ts';

// The judge of what belongs to a post beside itself: what follows it (I7), and that every acknowledged write is there
// (I10).

const STEPS: Readonly<Record<string, string>> = { first_comment: 'comment', post_plug: 'repost' };

/** I7: at most one first comment and one repost by each channel that was picked, and what is called done is there. */
export function followedOnce(history: History): Violation[] {
  const broken = say('I7');
  const { ledger, followUps, posts } = history;
  const violations: Violation[] = [];
  const below = ledger.filter(({ step }) => step === 'comment' || step === 'repost');
  for (const rows of groupBy(below, ({ account, step, replyTo }) => `${account} ${step} ${replyTo}`).values()) {
    const first = rows.findIndex(({ accepted }) => accepted);
    if (first < 0) continue;
    for (const { step, replyTo, answered } of rows.slice(first + 1))
      violations.push(broken(`${replyTo} got a ${step} that it had already (${answered})`));
  }
  const there = new Set(below.filter(({ accepted }) => accepted).map(({ postId, step }) => `${step} ${postId}`));
  for (const { postId, kind, state, releaseId } of followUps)
    if (state === 'done' && STEPS[kind] && !there.has(`${STEPS[kind]} ${releaseId}`))
      violations.push(broken(`the ${kind} of ${postId} is called done, and the network has none`));
  const rows = new Map(posts.map((row) => [row.id, row]));
  for (const { postId, firstComment, repostedBy = [] } of acknowledged(history)) {
    if (rows.get(postId)?.state !== 'PUBLISHED') continue;
    const of = (wanted: string) => followUps.filter(({ kind, ...row }) => row.postId === postId && kind === wanted);
    const wanted = { first_comment: firstComment === undefined ? 0 : 1, post_plug: repostedBy.length };
    for (const [kind, count] of Object.entries(wanted))
      if (of(kind).length !== count)
        violations.push(broken(`${postId} has ${of(kind).length} of ${kind} in the place of ${count}`));
    for (const { kind, state } of [...of('first_comment'), ...of('post_plug')])
      if (state !== 'done' && state !== 'failed' && state !== 'unconfirmed')
        violations.push(broken(`the ${kind} of ${postId} did not come to an end: ${state}`));
  }
  return violations;
}

/** What a post may be like by all that was answered about it. */
interface Meant {
  /** Each text that it may be published with; undefined: not compared. */
  texts: readonly string[] | undefined;
  /** The earliest of the times that it may be due at. */
  due: Date;
  /** Since when that is known; undefined: it is not, as a change of the time was not answered. */
  knownAt: Date | undefined;
  isDeleted: boolean;
}
/** The last acknowledged change holds; one that was not answered may hold. */
export function meantOf(history: Pick<History, 'created' | 'edited'>): Map<string, Meant> {
  const edits = groupBy(history.edited, ({ postId }) => postId);
  return new Map(acknowledged(history).map((one) => [one.postId, afterEdits(one, edits.get(one.postId) ?? [])]));
}
function afterEdits({ texts: [first] = [], due, answeredAt, texts }: Created, edits: readonly Edited[]): Meant {
  let may = first === undefined ? [] : [first];
  let dues = [due];
  let knownAt: Date | undefined = answeredAt;
  let isDeleted = false;
  for (const edit of edits) {
    const taken = isTaken(edit.status);
    if (!taken && !isUnknown(edit.status)) continue;
    if (edit.text !== undefined) may = taken ? [edit.text] : [...may, edit.text];
    if (edit.due) {
      dues = taken ? [edit.due] : [...dues, edit.due];
      knownAt = taken ? edit.answeredAt : undefined;
    }
    isDeleted ||= taken && edit.isDeleted === true;
  }
  const earliest = new Date(Math.min(...dues.map((one) => one.getTime())));
  return { texts: texts && may, due: earliest, knownAt, isDeleted };
}

/** I10: every acknowledged write is there: threads, series, changes, deletions, and rows beside posts. */
export function nothingMissing(history: History): Violation[] {
  const broken = say('I10');
  const violations = history.written
    .filter(({ isThere }) => !isThere)
    .map(({ what, id }) => broken(`${what} ${id} was acknowledged and is missing`));
  const rows = new Map(history.posts.map((row) => [row.id, row]));
  const items = groupBy(history.posts, ({ rootId, id }) => rootId ?? id);
  const groups = groupBy(
    history.posts.filter(({ rootId }) => rootId === null),
    ({ groupId }) => groupId,
  );
  const sent = groupBy(publishing(history), ({ idempotencyKey }) => idempotencyKey ?? '');
  const meant = meantOf(history);
  for (const { postId, texts, recurs } of acknowledged(history)) {
    const row = rows.get(postId);
    if (!row) continue; // told by I1
    const { texts: may, isDeleted } = meant.get(postId)!;
    const thread = (items.get(postId) ?? []).map(({ id }) => sent.get(id)?.find(({ accepted }) => accepted)?.text);
    if (isDeleted && !row.deleted) violations.push(broken(`${postId} was deleted, and is there`));
    if (isDeleted && thread.some((text) => text !== undefined))
      violations.push(broken(`${postId} was published although its deletion was acknowledged`));
    if (row.deleted) continue;
    if (texts && thread.length !== texts.length)
      violations.push(broken(`${postId} has ${thread.length} items of ${texts.length}`));
    const own = sent.get(postId)?.find(({ accepted }) => accepted)?.text;
    if (may && own !== undefined && !may.includes(own))
      violations.push(broken(`${postId} was published as "${own}", and was to be "${may.join('" or "')}"`));
    if (texts && row.state === 'PUBLISHED')
      for (const text of texts.slice(1))
        if (!thread.includes(text)) violations.push(broken(`"${text}" in the thread of ${postId} is not out`));
    if (recurs && row.state === 'PUBLISHED' && groups.get(row.groupId)?.length !== 2)
      violations.push(broken(`the series of ${postId} has ${groups.get(row.groupId)?.length} posts in the place of 2`));
  }
  return violations;
}
