import { createHmac } from 'node:crypto';
import { keptApart, mailsForward, moneyAddsUp, withinLimits, withoutHands } from './history/accounts.ts';
import {
  acknowledged,
  groupBy,
  type History,
  type Invariant,
  isUnknown,
  type LedgerRow,
  publishing,
  type ReceivedHook,
  say,
  type Violation,
} from './history/shape.ts';
import { followedOnce, meantOf, nothingMissing } from './history/writes.ts';

// What happened, judged from the files of processes that import nothing from the product: the network's ledger, what
// the receiver of webhooks got, what the load driver was answered. The product's own rows are recounted, never believed
// alone.

/** Timers and two clocks of one machine may differ by this much. */
const SLACK_MS = 3;
const ATTEMPTS = 3;

/** Who judges each invariant. */
const JUDGES: Readonly<Record<Invariant, (history: History) => Violation[]>> = {
  I1: nothingLost,
  I2: acceptedOnce,
  I3: inOrder,
  I4: noneEarly,
  I5: withinLimits,
  I6: delivered,
  I7: followedOnce,
  I8: moneyAddsUp,
  I9: keptApart,
  I10: nothingMissing,
  I11: withoutHands,
  I12: mailsForward,
};

/** Everything in a history that must not be there; an empty list is a good history. */
export const violationsOf = (history: History): Violation[] => Object.values(JUDGES).flatMap((judge) => judge(history));

/** I1: every acknowledged post has come to an end that its network agrees with. */
function nothingLost(history: History): Violation[] {
  const broken = say('I1');
  const rows = new Map(history.posts.map((row) => [row.id, row]));
  const accepted = new Map(
    publishing(history)
      .filter((row) => row.accepted)
      .map((row) => [row.idempotencyKey, row]),
  );
  return acknowledged(history).flatMap(({ postId }) => {
    const row = rows.get(postId);
    if (!row) return [broken(`${postId} was acknowledged and has vanished`)];
    if (row.deleted) return [];
    const there = accepted.get(postId);
    if (row.state === 'PUBLISHED') {
      if (!there) return [broken(`${postId} is called published, and the network never accepted it`)];
      return row.releaseId === there.postId
        ? []
        : [broken(`${postId} is called published as ${row.releaseId}, and is ${there.postId} on the network`)];
    }
    if (row.detail === 'unconfirmed') return [];
    if (row.state === 'ERROR')
      return row.error
        ? there
          ? [broken(`${postId} is called failed, and is on the network as ${there.postId}`)]
          : []
        : [broken(`${postId} failed without a reason`)];
    return [broken(`${postId} did not come to an end: ${row.state} ${row.detail ?? ''}`.trimEnd())];
  });
}

/**
 * I2: accepted at most once; and nothing was sent to the network again that it had accepted already, with a key or
 * without.
 */
function acceptedOnce(history: History): Violation[] {
  const broken = say('I2');
  const roots = new Set(acknowledged(history).map(({ postId }) => postId));
  const items = history.posts.filter(({ rootId }) => rootId !== null && roots.has(rootId)).map(({ id }) => id);
  const known = new Set([...roots, ...items]);
  const someUnanswered = history.created.some(({ status }) => isUnknown(status));
  const violations: Violation[] = [];
  for (const [key, rows] of groupBy(publishing(history), ({ idempotencyKey }) => idempotencyKey ?? '')) {
    if (key === '') {
      violations.push(broken('a post was sent without a key'));
      continue;
    }
    const first = rows.findIndex(({ accepted }) => accepted);
    if (first < 0) continue;
    if (!known.has(key) && !someUnanswered)
      violations.push(broken(`${key} was published, and nobody was told that it exists`));
    for (const row of rows.slice(first + 1))
      violations.push(
        broken(`${key} was ${row.accepted ? 'accepted again' : 'sent again after it was accepted'} (${row.answered})`),
      );
  }
  return violations;
}

/**
 * I3: at first attempts, the order of acceptance in a channel is the order of due times; and one request is in flight
 * at most.
 */
function inOrder(history: History): Violation[] {
  const broken = say('I3');
  const meant = meantOf(history);
  const posts = new Map(
    acknowledged(history).map((one) => {
      const { due, knownAt } = meant.get(one.postId)!;
      return [one.postId, { ...one, due, answeredAt: knownAt }];
    }),
  );
  const attempts = new Map(history.posts.map(({ id, attempt }) => [id, attempt]));
  const violations: Violation[] = [];
  for (const [account, rows] of groupBy(publishing(history), (row) => row.account)) {
    const sorted = rows.toSorted((a, b) => a.seq - b.seq);
    let last: { postId: string; due: Date } | undefined;
    const went = new Set<string>(); // a second time is the business of I2
    for (const { idempotencyKey, accepted } of sorted) {
      const post = posts.get(idempotencyKey ?? '');
      if (!post?.answeredAt || !accepted || went.has(post.postId) || attempts.get(post.postId) !== 1) continue;
      went.add(post.postId);
      // Only what was known before the other one was due could have gone first.
      if (last && post.due < last.due && post.answeredAt < last.due)
        violations.push(
          broken(
            `${account}: ${last.postId}, due ${last.due.toISOString()}, went before ${post.postId}, due ${post.due.toISOString()}`,
          ),
        );
      else last = post;
    }
    let before: LedgerRow | undefined;
    for (const row of sorted) {
      // it cannot have come later
      const began = row.at.getTime() - (posts.get(row.idempotencyKey ?? '')?.latencyMs ?? 0);
      if (before && began + SLACK_MS < before.at.getTime())
        violations.push(
          broken(`${account}: ${row.idempotencyKey} was sent while ${before.idempotencyKey} was in flight`),
        );
      before = row;
    }
  }
  return violations;
}

/** I4: no request came to the network before its post was due, by the clock of the database that keeps the ledger. */
function noneEarly(history: History): Violation[] {
  const meant = meantOf(history);
  const posts = new Map(acknowledged(history).map((one) => [one.postId, { ...one, due: meant.get(one.postId)!.due }]));
  return publishing(history).flatMap(({ idempotencyKey, at }) => {
    const post = posts.get(idempotencyKey ?? '');
    const early = post ? post.due.getTime() - (at.getTime() - post.latencyMs) : 0;
    return early > SLACK_MS ? [say('I4')(`${idempotencyKey} was sent ${early} ms before it was due`)] : [];
  });
}

interface Body {
  event: string;
  data: { postId: string };
}
const one = (value: string | string[] | undefined) => String(value ?? '');

/**
 * I6: for every published post and webhook of its channel a delivery, or three recorded attempts; stable ids;
 * signatures over the raw bytes.
 */
function delivered(history: History): Violation[] {
  const broken = say('I6');
  const { hooks, received, deliveries, deploymentSecret } = history;
  const violations: Violation[] = [];
  const channels = new Map(acknowledged(history).map(({ postId, channelId }) => [postId, channelId]));
  const listening = (postId: string) =>
    hooks.filter(({ channelIds }) => channelIds.includes(channels.get(postId) ?? ''));

  /** By post and webhook: the ids that its requests had, and whether one was answered with success. */
  const seen = new Map<string, { ids: Set<string>; taken: boolean }>();
  const owners = new Map<string, string>();
  for (const { headers, body, status } of received) {
    const { event, data } = JSON.parse(body.toString('utf8')) as Body;
    const id = one(headers['webhook-id']);
    const signed = listening(data.postId).filter(({ secret }) => isSigned({ headers, body }, secret));
    if (
      one(headers['x-service-signature']) !==
      `sha256=${createHmac('sha256', deploymentSecret).update(body).digest('hex')}`
    )
      violations.push(broken(`${id} about ${data.postId} has a wrong X-Service-Signature`));
    if (signed.length === 0)
      violations.push(broken(`${id} about ${data.postId} is not signed by a webhook that listens to its channel`));
    if (event !== 'post.published') violations.push(broken(`${id} is about ${event}, which nobody asked for`));
    for (const hook of signed) {
      const pair = `${data.postId} ${hook.id}`;
      const entry = seen.get(pair) ?? { ids: new Set(), taken: false };
      entry.ids.add(id);
      entry.taken ||= status >= 200 && status < 300;
      seen.set(pair, entry);
      if ((owners.get(id) ?? pair) !== pair)
        violations.push(broken(`${id} stands for two events: ${owners.get(id)} and ${pair}`));
      owners.set(id, pair);
    }
  }
  const published = new Set(history.posts.filter(({ state }) => state === 'PUBLISHED').map(({ id }) => id));
  for (const { postId } of acknowledged(history))
    for (const hook of listening(postId)) {
      const entry = seen.get(`${postId} ${hook.id}`);
      const rows = deliveries.filter((row) => row.postId === postId && row.webhookId === hook.id);
      if (!published.has(postId)) {
        if (entry) violations.push(broken(`${postId} was announced to ${hook.id}, and is not published`));
        continue;
      }
      if (rows.length > 1) violations.push(broken(`${postId} has ${rows.length} deliveries to ${hook.id}`));
      if (entry && entry.ids.size > 1)
        violations.push(broken(`${postId} came to ${hook.id} under ${entry.ids.size} ids`));
      if (!entry?.taken && rows[0]?.attempts !== ATTEMPTS)
        violations.push(
          broken(`${postId} was not delivered to ${hook.id}: ${rows[0]?.attempts ?? 0} attempts recorded`),
        );
    }
  return violations;
}

/** Whether `webhook-signature` is what the secret makes of id, time and these very bytes. */
export function isSigned({ headers, body }: Pick<ReceivedHook, 'headers' | 'body'>, secret: string): boolean {
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  const expected = `v1,${createHmac('sha256', key)
    .update(`${one(headers['webhook-id'])}.${one(headers['webhook-timestamp'])}.`)
    .update(body)
    .digest('base64')}`;
  return one(headers['webhook-signature']).split(' ').includes(expected);
}
