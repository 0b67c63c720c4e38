import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Sandbox, startSandbox } from '../../../sandbox/index.ts';
import { tokenOf } from '../../../sandbox/rules.ts';
import { ProviderError } from '../../../src/platform/kernel/index.ts';
import type { Post } from '../../../src/providers/registry/index.ts';
import { eventually } from '../../support/wire/eventually.ts';
import { testDatabase } from '../../support/wire/database.ts';
import { mediaOf } from '../../support/worlds/media-of.ts';
import { handleOf, localProviders, postOf, type PublishingChannel } from '../../support/worlds/providers.ts';

let db: Awaited<ReturnType<typeof testDatabase>>;
let network: Sandbox;
let providers: ReturnType<typeof localProviders>;

beforeAll(async () => {
  db = await testDatabase();
  network = await startSandbox({ sql: db.sql });
  providers = localProviders({ servers: { 'social/sandbox': network.url } });
});
afterAll(async () => {
  await providers[Symbol.asyncDispose]();
  await network[Symbol.asyncDispose]();
  await db[Symbol.asyncDispose]();
});

const adapter = () => providers.resolve('social', 'sandbox', { allowPreview: true });
async function channel(name: string): Promise<PublishingChannel> {
  const values = providers.fields(adapter(), { name });
  const tokens = await providers.signIn(adapter(), values);
  return providers.connect(adapter(), { values, account: name, tokens });
}
const ledger = (post: Post) => db.sql<{ accepted: boolean; answered: string; step: string }[]>`
  select accepted, answered, step from sandbox_ledger where idempotency_key = ${post.id} order by seq`;
const failure = async (call: Promise<unknown>) => {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  return error instanceof ProviderError ? { failure: error.failure, retryAfterMs: error.retryAfterMs } : error;
};

describe('the sandbox network', () => {
  test('accepts a post, writes it to its ledger and finds it again', async () => {
    const social = await channel('Alice');
    await expect(social.profile()).resolves.toMatchObject({ id: 'alice', name: 'alice' });
    const post = postOf('Good morning', [
      await mediaOf(new Uint8Array(10), {
        name: 'a.png',
        contentType: 'image/png',
        alt: 'A',
        publicUrl: 'https://x.test/a.png',
      }),
    ]);
    const since = new Date();
    const published = await social.publish(post, {}, handleOf());
    await expect(social.find!(post, {}, { since, saved: undefined, thread: [] })).resolves.toMatchObject({
      id: published.id,
      url: published.url,
    });
    const [row] =
      await db.sql`select text, media, account, post_id from sandbox_ledger where idempotency_key = ${post.id}`;
    expect(row).toMatchObject({
      text: 'Good morning',
      account: 'alice',
      post_id: published.id,
      media: [{ name: 'a.png', alt: 'A', bytes: 10 }],
    });
  });

  test('answers a repeat under the same key with the first post, after a restart too', async () => {
    const social = await channel('bob');
    const post = postOf('Once');
    const first = await social.publish(post, {}, handleOf());
    const [second, third] = await Promise.all([
      social.publish(post, {}, handleOf()),
      social.publish(post, {}, handleOf()),
    ]);
    expect([second.id, third.id]).toEqual([first.id, first.id]);

    await using again = await startSandbox({ sql: db.sql });
    await using others = localProviders({ servers: { 'social/sandbox': again.url } });
    const values = { name: 'bob' };
    const restarted = others.connect(adapter(), {
      values,
      account: 'bob',
      tokens: await others.signIn(adapter(), values),
    });
    expect((await restarted.publish(post, {}, handleOf())).id).toBe(first.id);
    expect((await ledger(post)).map(({ answered }) => answered)).toEqual(['ok', 'repeated', 'repeated', 'repeated']);
  });

  test('accepts one of two posts that arrive at once under one key', async () => {
    const social = await channel('carol');
    const post = postOf('Twice at once');
    const results = await Promise.all([1, 2, 3, 4].map(() => social.publish(post, {}, handleOf())));
    expect(new Set(results.map(({ id }) => id)).size).toBe(1);
    expect((await ledger(post)).filter(({ accepted }) => accepted)).toHaveLength(1);
  });

  test.each([
    ['rate_limited', { retryAfterSeconds: 7 }, { failure: 'rate_limited', retryAfterMs: 7_000 }, false],
    ['error', {}, { failure: 'lost' }, false],
    ['error_after_accept', {}, { failure: 'lost' }, true],
    ['garbage', {}, { failure: 'lost' }, true],
    ['auth_expired', {}, { failure: 'reauthorize' }, false],
  ])('answers %s as it is told [S243]', async (outcome, more, expected, accepted) => {
    const social = await channel('dora');
    const post = postOf(outcome);
    const told = { outcome, times: 1, ...more };
    expect(await failure(social.publish(post, told, handleOf()))).toMatchObject(expected);
    expect((await social.find!(post, told, { since: new Date(0), saved: undefined, thread: [] })) !== undefined).toBe(
      accepted,
    );
    await social.publish(post, told, handleOf()); // told to fail once only
    const rows = await ledger(post);
    expect(rows.filter((row) => row.accepted)).toHaveLength(1);
    expect(rows.map(({ answered }) => answered)).toEqual([outcome, accepted ? 'repeated' : 'ok']);
  });

  test('hangs on request, and accepts nothing', async () => {
    const silent = await startSandbox({ sql: db.sql });
    await using others = localProviders({ servers: { 'social/sandbox': silent.url } });
    const values = { name: 'hugo' };
    const social = others.connect(adapter(), {
      values,
      account: 'hugo',
      tokens: await others.signIn(adapter(), values),
    });
    const post = postOf('Nobody answers');
    const answer = failure(social.publish(post, { outcome: 'hang' }, handleOf()));
    await eventually('the network has the post', async () => (await ledger(post)).length > 0);
    expect(await social.find!(post, {}, { since: new Date(0), saved: undefined, thread: [] })).toBeUndefined();
    await silent[Symbol.asyncDispose]();
    expect(await answer).toMatchObject({ failure: 'lost' });
    expect((await ledger(post)).map(({ accepted }) => accepted)).toEqual([false]);
  });

  test('accepts a post after its latency, although the caller has disconnected', async () => {
    const social = await channel('erik');
    const post = postOf('Slow');
    const before = new Date();
    await social.publish(post, { latencyMs: 300 }, handleOf());
    const [row] = await db.sql<{ at: Date }[]>`select at from sandbox_ledger where idempotency_key = ${post.id}`;
    expect(row!.at.getTime()).toBeGreaterThanOrEqual(before.getTime() + 250);
  });

  test('renews a refused login once, and posts once', async () => {
    const values = { name: 'frida' };
    const tokens = (await providers.signIn(adapter(), values))!;
    let renewed = 0;
    const social = providers.connect(adapter(), {
      values,
      account: 'frida',
      tokens,
      renew: async () => {
        renewed += 1;
        return (await providers.refresh(adapter(), { values, tokens }))!;
      },
    });
    const post = postOf('After the login');
    await social.publish(post, { outcome: 'auth_expired', times: 1 }, handleOf());
    expect(renewed).toBe(1);
    expect((await ledger(post)).map(({ answered }) => answered)).toEqual(['auth_expired', 'ok']);
  });

  test('replies in a thread and deletes', async () => {
    const social = await channel('gina');
    const root = await social.publish(postOf('Root'), {}, handleOf());
    const answer = postOf('Answer');
    await social.publish(answer, {}, handleOf(undefined, [root]));
    expect((await ledger(answer)).map(({ step }) => step)).toEqual(['reply']);
    await social.remove!(root);
    await social.remove!(root); // gone already
    expect(await failure(social.publish(postOf('Too late'), {}, handleOf(undefined, [root])))).toMatchObject({
      failure: 'rejected',
    });
  });

  test('takes comments and reposts once each, by whatever account, finds and counts them [S243]', async () => {
    const [author, other] = [await channel('ines'), await channel('jan')];
    const published = await author.publish(postOf('Look'), {}, handleOf());
    const comment = { post: postOf('Nice'), published };
    const repost = { id: postOf('').id, published };
    for (let n = 0; n < 2; n++) {
      expect(await other.comment!(comment, handleOf())).toEqual(await other.comment!(comment, handleOf()));
      await other.repost!(repost, handleOf());
    }
    const lookUp = { since: new Date(0), saved: undefined, thread: [] };
    expect(await other.findComment!(comment, lookUp)).toMatchObject({ id: expect.any(String) });
    expect(await other.findRepost!(repost, lookUp)).toMatchObject({ id: expect.any(String) });
    expect(await other.findComment!({ ...comment, post: postOf('Never sent') }, lookUp)).toBeUndefined();
    expect((await ledger(comment.post)).map(({ step, answered }) => [step, answered])).toEqual([
      ['comment', 'ok'],
      ['comment', 'repeated'],
      ['comment', 'repeated'],
      ['comment', 'repeated'],
    ]);
    const liked = await fetch(`${network.url}/posts/${published.id}/likes`, {
      method: 'POST',
      headers: { authorization: `Bearer ${tokenOf('jan', 1)}` },
    });
    expect(liked.status).toBe(201);
    const gone = { id: 'gone', url: '' };
    expect(await author.metrics!([published, gone])).toEqual([
      { id: published.id, counts: { likes: 1, comments: 1, reposts: 1 } },
    ]);
    const totals = await author.channelMetrics!({ from: '2026-01-01', to: '2026-01-07' });
    expect(totals.map(({ metric, points }) => [metric, points.map(({ value }) => value)])).toEqual([
      ['followers', [1]], // whoever commented, liked or reposted, but not the author
      ['posts', [1]],
    ]);
    expect(await failure(other.comment!({ ...comment, published: gone }, handleOf()))).toMatchObject({
      failure: 'rejected',
    });
    expect(await author.tool!('list_posts', {})).toMatchObject([{ id: published.id }]);
  });

  test('accepts a thousand concurrent posts, each in the ledger once', async () => {
    const channels = await Promise.all(Array.from({ length: 20 }, (_, n) => channel(`crowd-${n}`)));
    const posts = Array.from({ length: 1_000 }, (_, n) => postOf(`post ${n}`));
    await Promise.all(posts.map((post, n) => channels[n % 20]!.publish(post, {}, handleOf())));
    const [row] = await db.sql<{ n: number }[]>`
      select count(*)::int as n
      from sandbox_ledger
      where accepted and idempotency_key = any(${posts.map(({ id }) => id)})`;
    expect(row!.n).toBe(1_000);
  });

  test('is not registered where it is not enabled [S243]', async () => {
    await using production = localProviders({ sandboxEnabled: false });
    expect(production.list('social').some(({ id }) => id === 'sandbox')).toBe(false);
    expect(() => production.resolve('social', 'sandbox', { allowPreview: true })).toThrow(
      expect.objectContaining({ code: 'unknown_version' }),
    );
    expect(() => providers.resolve('social', 'sandbox')).toThrow(
      expect.objectContaining({ code: 'preview_not_allowed' }),
    );
  });
});
