import { afterAll, expect, test } from '@jest/globals';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import type { Database } from '../../src/platform/db/index.ts';
import { systemClock } from '../../src/platform/kernel/index.ts';
import { createdId, signUpAt } from '../support/processes/client.ts';
import { isSigned } from '../support/processes/history.ts';
import { type EngineCase, engines } from '../support/processes/service.ts';
import { makeCertificate } from '../support/wire/certificate.ts';
import { testDatabase } from '../support/wire/database.ts';
import { eventually } from '../support/wire/eventually.ts';
import { type Receiver, startReceiver } from '../support/wire/receiver.ts';

// The life of a post from its first draft to its last follow-up, over HTTP, on both engines with the same words.

const START_MS = 240_000;
const WITHIN_MS = 90_000;
const tls = makeCertificate();
const folder = mkdtempSync(join(tmpdir(), 'rookery-life-'));
const authority = join(folder, 'authority.pem');
writeFileSync(authority, tls.cert);
const receiver = await startReceiver({ tls });
afterAll(async () => {
  await receiver[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

const Id = z.object({ id: z.string() });
const Post = z.object({
  id: z.string(),
  state: z.string(),
  detail: z.string().nullable(),
  error: z.string().nullable(),
});
type Post = z.output<typeof Post>;
const Kinds = z.object({ items: z.array(z.object({ kind: z.string(), data: z.unknown() })) });
const EVENTS = [
  'post.approval_requested',
  'post.approved',
  'post.paused',
  'post.resumed',
  'post.published',
  'first_comment.posted',
];

async function lifeOfPost(url: string, { ledger }: Receiver, sql: Database): Promise<void> {
  const client = await signUpAt(url, 'Acme');
  const accountOf = (name: string) => `${name}-${client.email.split('@')[0]}`;
  const connect = async (name: string) =>
    (
      await client.own('/integrations/social-connect/sandbox', Id, {
        body: { fields: { name: accountOf(name) }, allowPreview: true },
      })
    ).id;
  const [channelId, second] = [await connect('first'), await connect('second')];
  const hook = await client.own('/webhooks', z.object({ id: z.string(), secret: z.string() }), {
    body: { name: 'life', url: `${receiver.url}/${channelId}`, integrations: [], events: EVENTS, secret: true },
  });
  await client.own('/settings', z.unknown(), { method: 'PUT', body: { approvalRequired: 'all' } });

  // a draft of a thread, with what is to follow it, and a note of a reviewer
  const settings = {
    firstComment: 'The first comment',
    'plug--sandbox-repost-from--active': true,
    'plug--sandbox-repost-from--integrations': [{ id: second }],
  };
  const created = await client.ask('/public/v1/posts', {
    body: {
      type: 'draft',
      date: systemClock.in(86_400_000).toISOString(),
      shortLink: false,
      tags: [],
      posts: [
        { integration: { id: channelId }, value: [{ content: 'The first' }, { content: 'The second' }], settings },
      ],
    },
  });
  const postId = createdId(created);
  if (postId === undefined) throw new Error(`The create answered ${created.status}: ${created.text}`);
  const post = () => client.api(`/public/v1/posts/${postId}`, Post);
  const isNow = (what: string, holds: (now: Post) => boolean) =>
    eventually(what, async () => holds(await post()), WITHIN_MS);
  expect(await post()).toMatchObject({ state: 'DRAFT', detail: null });
  const notes = await client.own(`/posts/${postId}/comments`, z.array(z.object({ content: z.string() })), {
    body: { content: 'Please shorten it' },
  });
  expect(notes).toMatchObject([{ content: 'Please shorten it' }]);

  // approval, under a brake
  await client.own(`/posts/${postId}/request-approval`, z.unknown(), { method: 'POST' });
  expect(await post()).toMatchObject({ state: 'DRAFT', detail: 'awaiting_approval' });
  await client.own('/posts/pause', z.unknown(), { body: { scope: 'channel', id: channelId } });
  await client.own(`/posts/${postId}/approve`, z.unknown(), { body: { publishDate: systemClock.now().toISOString() } });
  expect(await post()).toMatchObject({ state: 'QUEUE', detail: 'paused' });
  const { plan } = await client.own(
    '/posts/resume',
    z.object({ plan: z.array(z.object({ postId: z.string(), at: z.string() })) }),
    { body: { scope: 'channel', id: channelId, spacingSeconds: 0 } },
  );
  expect(plan.map((one) => one.postId)).toContain(postId);

  // published, with its thread, its first comment and the repost
  await isNow('the post is published', ({ state, error }) => {
    if (state === 'ERROR') throw new Error(`The post failed: ${error}`);
    return state === 'PUBLISHED';
  });
  const timeline = async () => (await client.api(`/public/v1/posts/${postId}/timeline`, Kinds)).items;
  const followed = async () => (await timeline()).filter(({ kind }) => kind === 'first_comment' || kind === 'plug');
  await eventually('what follows is made', async () => (await followed()).length === 2, WITHIN_MS);
  const kinds = (await timeline()).map(({ kind }) => kind);
  expect(kinds.filter((kind) => ['claimed', 'published', 'first_comment', 'plug'].includes(kind)).toSorted()).toEqual([
    'claimed',
    'first_comment',
    'plug',
    'published',
  ]);
  const [first, other] = [accountOf('first'), accountOf('second')];
  const noted = await sql<{ account: string; step: string; text: string }[]>`
    select account, step, text from sandbox_ledger where accepted and account = any(${[first, other]}) order by step, text`;
  expect(noted).toEqual([
    { account: first, step: 'comment', text: 'The first comment' },
    { account: first, step: 'publish', text: 'The first' },
    { account: first, step: 'reply', text: 'The second' },
    { account: other, step: 'repost', text: '' },
  ]);

  // told to a webhook, in order and signed, and once more when it is replayed
  const mine = () => ledger.filter(({ path }) => path === `/${channelId}`);
  const tell = () => mine().map(({ body }) => (JSON.parse(body.toString()) as { event: string }).event);
  await eventually('all is told', () => EVENTS.every((event) => tell().includes(event)), WITHIN_MS);
  expect(mine().every((delivery) => isSigned(delivery, hook.secret))).toBe(true);
  const told = mine().map(({ headers, body }) => [headers['webhook-id'], body.toString()]);
  expect(tell().indexOf('post.approval_requested')).toBeLessThan(tell().indexOf('post.approved'));
  expect(tell().indexOf('post.published')).toBeLessThan(tell().indexOf('first_comment.posted'));
  const Attempts = z.object({ items: z.array(z.unknown()) });
  const recorded = async () => (await client.own(`/webhooks/${hook.id}/deliveries`, Attempts)).items.length;
  await eventually('each delivery is over', async () => (await recorded()) === told.length, WITHIN_MS);
  const { queued } = await client.own(`/webhooks/${hook.id}/replay`, z.object({ queued: z.int() }), { body: {} });
  expect(queued).toBe(told.length);
  await eventually('all is told again', () => mine().length === 2 * told.length, WITHIN_MS);
  const again = mine().slice(told.length);
  expect(again.map(({ headers, body }) => [headers['webhook-id'], body.toString()])).toEqual(told);
}

const onEngine = ({ name, missing, start }: EngineCase) =>
  (missing === undefined ? test : test.skip)(
    `draft, note, approval, brake, thread, first comment, plug, webhook and replay, on the ${name} engine${
      missing ? ` (skipped: ${missing})` : ''
    } [S121, S122, S123, S145, S170]`,
    async () => {
      await using database = await testDatabase();
      await using service = await start({ database, env: { NODE_EXTRA_CA_CERTS: authority } });
      await lifeOfPost(service.url, receiver, database.sql);
    },
    START_MS,
  );
for (const engine of engines) onEngine(engine);
