import { createHmac } from 'node:crypto';
import { type Canary, type Edited, type History, type LedgerRow, NO_MONEY } from './shape.ts';
import { violationsOf } from '../history.ts';

// A good history, and the parts of which forged ones are made.

const DEPLOYMENT = 'the secret of the deployment';
export const SECRET = `whsec_${Buffer.from('the key of one webhook').toString('base64')}`;
export const at = (ms: number) => new Date(1_800_000_000_000 + ms);

export function received(
  postId: string,
  { id = `msg_${postId}`, secret = SECRET, deployment = DEPLOYMENT, status = 200, event = 'post.published' } = {},
) {
  const body = Buffer.from(JSON.stringify({ event, timestamp: at(0).toISOString(), data: { postId } }));
  const signature = createHmac('sha256', Buffer.from(secret.slice(6), 'base64'))
    .update(`${id}.1800000000.`)
    .update(body)
    .digest('base64');
  return {
    headers: {
      'webhook-id': id,
      'webhook-timestamp': '1800000000',
      'webhook-signature': `v1,${signature}`,
      'x-service-signature': `sha256=${createHmac('sha256', deployment).update(body).digest('hex')}`,
    },
    body,
    status,
  };
}
export const created = (postId: string, due: number, channel = 'one') => ({
  status: 201,
  postId,
  channelId: channel,
  account: channel,
  due: at(due),
  answeredAt: at(-500),
  latencyMs: 50,
});
export const noted = (seq: number, key: string, ms: number, more: Partial<LedgerRow> = {}): LedgerRow => ({
  seq,
  at: at(ms),
  account: 'one',
  postId: `there-${key}`,
  step: 'publish',
  text: key,
  replyTo: null,
  idempotencyKey: key,
  accepted: true,
  answered: 'ok',
  ...more,
});
export const row = (id: string, more: object = {}) => ({
  id,
  orgId: 'org',
  rootId: null,
  groupId: `group-${id}`,
  createdAt: at(-1_000),
  isGranted: true,
  state: 'PUBLISHED',
  detail: null,
  error: null,
  attempt: 1,
  deleted: false,
  releaseId: `there-${id}`,
  ...more,
});
export const delivery = (postId: string, more: object = {}) => ({
  id: `d-${postId}`,
  webhookId: 'hook',
  postId,
  attempts: 1,
  ...more,
});

export const edit = (more: Partial<Edited>): Edited => ({ postId: 'a', status: 200, answeredAt: at(-400), ...more });
export const followUp = (more: object = {}) => ({
  postId: 'a',
  kind: 'first_comment',
  state: 'done',
  releaseId: 'there-comment',
  ...more,
});
export const comment = (seq: number, key: string, more: Partial<LedgerRow> = {}) =>
  noted(seq, key, 400, { step: 'comment', replyTo: 'there-a', ...more });
export const canary: Canary = {
  account: 'apart',
  before: { 'posts 1': 'as it was' },
  after: { 'posts 1': 'as it was' },
  named: [],
  asked: [{ what: 'GET posts 1', status: 404, refusal: 404 }],
};
export const entry = (kind: string, micros: number) => ({ window: 'org day', kind, micros });
export const event = (...answers: [status: number, isIgnored: boolean][]) => ({
  id: 'paid',
  answers: answers.map(([status, isIgnored]) => ({ status, isIgnored })),
});
export const mail = (more: Partial<History['mails'][number]>): History['mails'][number] => ({
  id: 'mail',
  seen: [],
  told: [],
  ...more,
});

/** Two posts of one channel, published in order, each announced once. */
export const good: History = {
  edited: [],
  followUps: [],
  limits: [],
  counters: [],
  money: NO_MONEY,
  canary,
  written: [{ what: 'webhook', id: 'hook', isThere: true }],
  hands: [],
  isLetAlone: true,
  mails: [],
  created: [created('a', 0), created('b', 100)],
  ledger: [noted(1, 'a', 60), noted(2, 'b', 160)],
  received: [received('a'), received('b')],
  hooks: [{ id: 'hook', secret: SECRET, channelIds: ['one'] }],
  deploymentSecret: DEPLOYMENT,
  posts: [row('a'), row('b')],
  deliveries: [delivery('a'), delivery('b')],
};
export const invariants = (more: Partial<History>) => [
  ...new Set(violationsOf({ ...good, ...more }).map(({ invariant }) => invariant)),
];
/** The post `a` alone is forged; `b` stays as it is. */
export const forged = {
  created: (more: object) => [{ ...created('a', 0), ...more }, created('b', 100)],
  posts: (more: object) => [row('a', more), row('b')],
  received: (...more: History['received'][number][]) => [...more, received('b')],
};
