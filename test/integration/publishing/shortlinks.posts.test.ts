// oxlint-disable max-lines -- one database and one shortener serve all cases
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { newId, ProviderError, systemClock } from '../../../src/platform/kernel/index.ts';
import type { Shortlinks } from '../../../src/publishing/shortlinks/index.ts';
import type { NewPost } from '../../../src/publishing/posts/index.ts';
import { noEngine } from '../../support/worlds/app.ts';
import { testDatabase, type TestDatabase } from '../../support/wire/database.ts';
import { eventually } from '../../support/wire/eventually.ts';
import { settles } from '../../support/wire/settles.ts';
import { belowPosts } from '../../support/worlds/publishing/follow-ups.ts';
import {
  admit,
  clockWhere,
  type Network,
  newPost,
  openNetwork,
  openPublishing,
  postActorOf,
  type Publisher,
  seedOrg,
  settled,
  startPublisher,
  stateOf,
} from '../../support/worlds/publishing/world.ts';
import {
  type FakeShortener,
  patientClock,
  type SetUp,
  setUpOf,
  startShortener,
} from '../../support/peers/shortener.ts';

let db: TestDatabase;
let shortener: FakeShortener;
let setUp: SetUp;
let network: Network;
let world: Publisher;
let links: Shortlinks;
let clock: ReturnType<typeof patientClock>;

beforeAll(async () => {
  db = await testDatabase({ connections: 20 });
});
afterAll(async () => db[Symbol.asyncDispose]());
beforeEach(async () => {
  shortener = await startShortener();
  network = openNetwork();
  clock = patientClock();
  world = await startPublisher({ url: db.url, network, clock, servers: shortener.servers });
  links = world.context.shortlinks;
  setUp = setUpOf(world.context);
  await setUp.set(null, 'isgd');
});
afterEach(async () => {
  await world[Symbol.asyncDispose]();
  const { faults } = shortener;
  await shortener[Symbol.asyncDispose]();
  expect(faults).toEqual([]);
});

/** The links of another process, which hosts no actors. */
async function elsewhere(
  opened: AsyncDisposableStack,
  more: Partial<Parameters<typeof openPublishing>[0]> = {},
): Promise<Shortlinks> {
  const context = opened.use(
    await openPublishing({ url: db.url, clock: patientClock(), servers: shortener.servers, engine: noEngine, ...more }),
  );
  return context.shortlinks;
}
const HOUR = 3_600_000;
const A = 'https://shop.example/products/42?utm_source=newsletter';
const B = 'https://blog.example/2026/11/what-a-long-title-of-an-article';
const linked = (channelId: string, content: string, more: Partial<NewPost> = {}) =>
  newPost(channelId, { content, shortLinks: true, ...more });
const sentTexts = () => network.asked.map(({ text }) => text);
const told = async (postId: string) =>
  (
    await db.sql`select message, data from post_timeline where post_id = ${postId} and kind = 'short_link' order by id`
  ).map(({ message, data }) => ({
    message,
    data,
  }));
const rowsOf = (postId: string) =>
  db.sql`
    select url, state, short_url as short, attempt, reason, ask_at <> 'infinity' as timed
    from short_links
    where post_id = ${postId}
    order by url`;

/** Publishes one post and waits for its end. */
async function publish(content: string, more: Partial<NewPost> = {}) {
  const { orgId, channelId } = await seedOrg(db.sql);
  const post = linked(channelId, content, more);
  await admit(world, orgId, [post]);
  await settled(db.sql, orgId);
  return { orgId, post };
}

describe('a post with short links is published', () => {
  test('in the form of its network, with its mentions, and as plain text beside it', async () => {
    network.declares = { editor: 'markdown', mention: ({ id }) => `<@${id}>` };
    const mention = '<span class="mention" data-mention-id="7" data-mention-label="Ann">@ann</span>';
    await publish(`<p>${mention} <strong>reads</strong> <a href="${A}">this</a></p>`);
    const short = `https://is.gd/${shortener.made.isgd.indexOf(A) + 1}`;
    expect(network.asked.map(({ text, plain }) => ({ text, plain }))).toEqual([
      { text: `<@7> **reads** [this](${short})`, plain: `@ann reads this (${short})` },
    ]);
  });

  test('with each link shortened once in HTML and plain text, and nothing else changed; the timeline lists them [S117]', async () => {
    const content = `<p>@shop.example sells #https at ${A} and <a href="${B}">here</a>, again ${A}.</p><p>(<a href="${A}">${A}</a>) mail@shop.example ${A}x</p>`;
    const { post } = await publish(content.slice(0, 700));
    const [a, b] = [
      `https://is.gd/${shortener.made.isgd.indexOf(A) + 1}`,
      `https://is.gd/${shortener.made.isgd.indexOf(B) + 1}`,
    ];
    expect(sentTexts()).toEqual([
      expect.stringMatching(
        new RegExp(
          `^@shop\\.example sells #https at ${a} and here \\(${b}\\), again ${a}\\.\\n+\\(${a}\\) mail@shop\\.example https://is\\.gd/\\d$`,
        ),
      ),
    ]);
    expect(shortener.made.isgd.toSorted()).toEqual([A, B, `${A}x`].toSorted());
    const notes = await told(post.id);
    expect(notes).toHaveLength(3);
    expect(notes).toEqual(
      expect.arrayContaining(
        [A, B, `${A}x`].map((original) => ({
          message: 'A link was shortened',
          data: { original, short: `https://is.gd/${shortener.made.isgd.indexOf(original) + 1}` },
        })),
      ),
    );
  });

  test('with the links of its first comment shortened, too, each once [S119]', async () => {
    const below = belowPosts(network);
    const { post } = await publish(`Look: ${A}`, { settings: { firstComment: `More: ${A} and ${B}` } });
    await settles(() => expect(below.made).toHaveLength(1));
    const [a, b] = [A, B].map((url) => `https://is.gd/${shortener.made.isgd.indexOf(url) + 1}`);
    expect([sentTexts(), below.made[0]!.text]).toEqual([[`Look: ${a}`], `More: ${a} and ${b}`]);
    expect(await rowsOf(post.id)).toHaveLength(2);
  });

  test('with the links of a first comment as it was edited, and none that it does not have any more [S119]', async () => {
    const below = belowPosts(network);
    const { orgId, channelId } = await seedOrg(db.sql);
    const settings = { firstComment: `First: ${A}` };
    const post = linked(channelId, 'Look', { settings, publishDate: systemClock.in(24 * HOUR) });
    await admit(world, orgId, [post]);
    const edit = (change: object) => postActorOf(world, orgId, post.id).edit(change as never);
    await edit({ settings: { values: { firstComment: `Later: ${B}` }, merge: true } });
    expect((await rowsOf(post.id)).map(({ url }) => url as string)).toEqual([B]);
    await edit({ publishDate: systemClock.now() });
    await settles(() => expect(below.made).toHaveLength(1));
    expect(below.made[0]!.text).toBe('Later: https://is.gd/1');
  });

  test('unchanged when no short links are requested', async () => {
    await publish(`Look: ${A}`, { shortLinks: undefined } as Partial<NewPost>);
    expect([sentTexts(), shortener.asked]).toEqual([[`Look: ${A}`], []]);
  });

  test('with separate links for each item of a thread', async () => {
    const { orgId, channelId } = await seedOrg(db.sql);
    const root = linked(channelId, `One ${A}`);
    const second = linked(channelId, `Two ${A}`, { parentPostId: root.id, rootPostId: root.id, group: root.group });
    await admit(world, orgId, [root, second]);
    await settled(db.sql, orgId);
    // which of the two is shortened first is open
    expect(sentTexts().map((text) => text.slice(0, -1))).toEqual(['One https://is.gd/', 'Two https://is.gd/']);
    expect(
      sentTexts()
        .map((text) => text.at(-1))
        .toSorted(),
    ).toEqual(['1', '2']);
    expect(shortener.made.isgd).toEqual([A, A]);
  });

  test('with the same text on a retry, and is looked up by that text [PO4]', async () => {
    let tries = 0;
    const looked: string[] = [];
    network.behave = async (_post, _sent, accept) => {
      tries += 1;
      if (tries === 1) throw new ProviderError('rate_limited', 'Not now', { retryAfterMs: 1_000 });
      accept();
      throw new ProviderError('lost', 'The line broke');
    };
    network.find = async ({ id, text }) => {
      looked.push(text);
      return { id: `r-${id}`, url: 'https://fake.example/' };
    };
    const { post } = await publish(`Look: ${A}`);
    expect(sentTexts()).toEqual(['Look: https://is.gd/1', 'Look: https://is.gd/1']);
    expect(looked).toEqual(['Look: https://is.gd/1']);
    expect(shortener.made.isgd).toEqual([A]);
    expect((await stateOf(db.sql, post.id)).state).toBe('PUBLISHED');
  });

  test.each([
    ['a key that is refused', { status: 401 } as const, /401/],
    ['too many calls', { status: 429, headers: { 'retry-after': '60' } } as const, /429/],
    [
      'an address that is refused',
      { status: 200, body: { errorcode: 1, errormessage: 'Please enter a valid URL' } } as const,
      /Please enter a valid URL/,
    ],
    ['a fault of theirs', { status: 500 } as const, /500/],
    ['a line that breaks', 'hang-up' as const, /did not answer/],
    ['half an answer', 'garbage' as const, /do not understand/],
    [
      'a page in the place of an answer',
      { status: 200, body: '<!doctype html><title>Hello</title>' } as const,
      /do not understand/,
    ],
    ['an answer that never comes', 'silence' as const, /did not answer in time/],
  ])('with the long link and the reason in the timeline: %s [S117]', async (_, behaviour, reason) => {
    shortener.on('GET /create.php', behaviour);
    if (behaviour === 'silence') void eventually('it is asked', () => shortener.asked.length > 0).then(clock.enough);
    const { post } = await publish(`Look: ${A}`);
    expect(sentTexts()).toEqual([`Look: ${A}`]);
    expect(await told(post.id)).toEqual([
      { message: expect.stringMatching(reason), data: { original: A, short: null } },
    ]);
    expect((await told(post.id))[0]!.message).toMatch(/^A link goes out as it is: /);
    expect(shortener.asked).toEqual(['GET /create.php']);
    expect((await stateOf(db.sql, post.id)).state).toBe('PUBLISHED');
  });

  test('with the long link when no provider is configured, or one without a public interface', async () => {
    await setUp.set(null);
    const { post } = await publish(`Look: ${A}`);
    expect(await told(post.id)).toEqual([
      { message: 'A link goes out as it is: no short link provider is set up', data: { original: A, short: null } },
    ]);
    const { orgId, channelId } = await seedOrg(db.sql);
    await db.sql`update organizations set settings = '{"defaultShortlinkProviderId": "lnkify"}' where id = ${orgId}`;
    await db.sql`
      insert into provider_settings (id, org_id, domain, provider_id, provider_version, name, credentials)
      values (${newId()}, ${orgId}, 'shortlink', 'lnkify', 'v1', 'Lnkify',
        ${world.context.vault.seal('{}')})`; // nobody can set it up today
    const other = linked(channelId, `Look: ${A}`);
    await admit(world, orgId, [other]);
    await settled(db.sql, orgId);
    expect(await told(other.id)).toEqual([
      { message: expect.stringContaining('Lnkify has not published'), data: { original: A, short: null } },
    ]);
    expect(sentTexts()).toEqual([`Look: ${A}`, `Look: ${A}`]);
  });

  test('with links unchanged that are short, contain a password or would grow; no provider gets them', async () => {
    const texts = ['https://is.gd/abc', 'https://ann:pw@shop.example/a-long-path', 'ftp://a.example/b'];
    const { post } = await publish(`Look: ${texts.join(' ')} https://a.bc`);
    expect(sentTexts()).toEqual([`Look: ${texts.join(' ')} https://a.bc`]);
    expect(shortener.made.isgd).toEqual(['https://a.bc/']);
    expect(await told(post.id)).toEqual([
      {
        message: 'A link goes out as it is: is.gd makes none that is shorter',
        data: { original: 'https://a.bc', short: null },
      },
    ]);
  });
});

describe('short links are made ahead', () => {
  const schedule = async (dueInMs: number, content = `Look: ${A}`) => {
    const { orgId, channelId } = await seedOrg(db.sql);
    const post = linked(channelId, content, { publishDate: systemClock.in(dueInMs) });
    await admit(world, orgId, [post]);
    return { orgId, post };
  };
  const isMade = (postId: string, n = 1) =>
    eventually('made', async () => (await rowsOf(postId)).filter(({ state }) => state === 'made').length === n);
  /** Looked through twice: what was due has been claimed. */
  const look = async () => {
    const before = shortener.asked.length;
    const probe = await schedule(HOUR / 2, `Look: https://probe.example/${newId()}`);
    await isMade(probe.post.id);
    await db.sql`delete from posts where id = ${probe.post.id}`;
    return shortener.asked.length - before - 1;
  };

  test('within the hour before the post and not earlier, and again when a post moves nearer', async () => {
    await using _maker = links.startMaker({ restMs: 20 });
    const near = await schedule(HOUR / 2);
    await isMade(near.post.id);
    const far = await schedule(3 * HOUR, `Look: ${B}`);
    expect(await look()).toBe(0);
    await postActorOf(world, far.orgId, far.post.id).setDate({ date: systemClock.in(HOUR / 2), action: 'schedule' });
    await isMade(far.post.id);
    expect(shortener.made.isgd.filter((url) => url === A || url === B)).toEqual([A, B]);
    expect(network.asked).toEqual([]); // neither is out
  });

  test('so that a due post waits for no provider', async () => {
    await using _maker = links.startMaker({ restMs: 20 });
    const { orgId, post } = await schedule(HOUR / 2);
    await isMade(post.id);
    shortener.on('GET /create.php', 'silence');
    await postActorOf(world, orgId, post.id).setDate({ date: systemClock.in(100), action: 'schedule' });
    await settled(db.sql, orgId);
    expect(sentTexts()).toEqual(['Look: https://is.gd/1']);
  });

  test('never for drafts, deleted posts and replaced texts, and for a draft once it is scheduled', async () => {
    await using _maker = links.startMaker({ restMs: 20 });
    const { orgId, channelId } = await seedOrg(db.sql);
    const at = { publishDate: systemClock.in(HOUR / 2) };
    const [draft, deleted, changed] = [
      linked(channelId, `Look: ${A}`, { ...at, state: 'DRAFT' }),
      linked(channelId, `Gone: ${A}`, { publishDate: systemClock.in(2 * HOUR) }),
      linked(channelId, `Old: ${A}`, { publishDate: systemClock.in(2 * HOUR) }),
    ];
    await admit(world, orgId, [draft]);
    await admit(world, orgId, [deleted]);
    await admit(world, orgId, [changed]);
    await postActorOf(world, orgId, deleted.id).cancel({});
    await db.sql`update short_links set ask_at = now() where post_id = ${deleted.id}`;
    await postActorOf(world, orgId, changed.id).edit({ content: `New: ${B}`, publishDate: at.publishDate });
    await isMade(changed.id);
    expect(await look()).toBe(0);
    expect(shortener.made.isgd.filter((url) => url === A || url === B)).toEqual([B]);
    expect((await rowsOf(changed.id)).map(({ url }) => url)).toEqual([B]);
    await postActorOf(world, orgId, draft.id).setStatus({ status: 'schedule' });
    await isMade(draft.id);
    expect(shortener.made.isgd.filter((url) => url === A || url === B)).toEqual([B, A]);
  });

  test('of a post that waits for approval as soon as it is approved, at the date that it has then [S119, S121]', async () => {
    const { orgId, userId, channelId } = await seedOrg(db.sql);
    await db.sql`update organizations set settings = settings || '{"approvalRequired":"all"}' where id = ${orgId}`;
    const held = linked(channelId, `Look: ${A}`, { publishDate: systemClock.in(5 * HOUR) });
    await admit(world, orgId, [held]);
    expect(await rowsOf(held.id)).toMatchObject([{ state: 'waiting', timed: false }]);
    await world.posts.approvePost(orgId, held.id, {
      by: { userId, schedulesFreely: true },
      publishDate: systemClock.in(HOUR / 2),
    });
    expect(await rowsOf(held.id)).toMatchObject([{ state: 'waiting', timed: true }]);
    await using _maker = links.startMaker({ restMs: 20 });
    await isMade(held.id);
  });

  test('again while there is time, after a provider was busy or its key was wrong', async () => {
    await using _maker = links.startMaker({ restMs: 20 });
    shortener.on('GET /create.php', { status: 401 }, 1);
    const { post } = await schedule(HOUR / 2);
    await eventually('put off', async () => (await rowsOf(post.id))[0]!['reason'] !== null);
    expect(await rowsOf(post.id)).toMatchObject([{ state: 'waiting', attempt: 1, short: null, timed: true }]);
    expect(await told(post.id)).toEqual([]); // nothing is decided
    await db.sql`update short_links set ask_at = now() where post_id = ${post.id}`;
    await isMade(post.id);
    expect(await rowsOf(post.id)).toMatchObject([{ state: 'made', attempt: 2, reason: null }]);
  });
});

describe('no short link is made twice', () => {
  const stored = async (content = `Look: ${A} ${B}`) => {
    const { orgId, channelId } = await seedOrg(db.sql);
    const post = linked(channelId, content, { publishDate: systemClock.in(2 * HOUR) });
    await admit(world, orgId, [post]);
    return { orgId, post };
  };

  test('by 100 senders and three makers at once: one request per link, and all get the same', async () => {
    const { orgId, post } = await stored();
    await using makers = new AsyncDisposableStack();
    for (let n = 0; n < 3; n++) makers.use((await elsewhere(makers)).startMaker({ restMs: 1 }));
    await db.sql`update short_links set ask_at = now() where post_id = ${post.id}`;
    const answers = await Promise.all(Array.from({ length: 100 }, () => links.decide(orgId, post.id)));
    await makers.disposeAsync();
    expect(shortener.made.isgd.toSorted()).toEqual([B, A].toSorted());
    const sorted = answers.map((answer) => JSON.stringify(answer.toSorted((x, y) => (x.url < y.url ? -1 : 1))));
    expect(new Set(sorted).size).toBe(1);
    expect(answers[0]!.every(({ short }) => short?.startsWith('https://is.gd/'))).toBe(true);
    expect(await told(post.id)).toHaveLength(2);
  });

  test('after a lost answer: the long link is sent, unless the provider repeats its answer', async () => {
    const { orgId, post } = await stored(`Look: ${A}`);
    shortener.on('GET /create.php', 'accept-then-hang-up', 1);
    expect(await links.decide(orgId, post.id)).toEqual([{ url: A, short: null }]);
    expect(await links.decide(orgId, post.id)).toEqual([{ url: A, short: null }]);
    expect(shortener.made.isgd).toEqual([A]);

    await using _maker = links.startMaker({ restMs: 20 });
    const other = await stored(`Look: ${B}`);
    await setUp.set(other.orgId, 'dub');
    shortener.on('PUT /links/upsert', 'accept-then-hang-up', 1);
    await db.sql`update short_links set ask_at = now() where post_id = ${other.post.id}`;
    await eventually('put off', async () => (await rowsOf(other.post.id))[0]!['reason'] !== null);
    await db.sql`update short_links set ask_at = now() where post_id = ${other.post.id}`;
    await eventually('made', async () => (await rowsOf(other.post.id))[0]!['state'] === 'made');
    expect(await links.decide(other.orgId, other.post.id)).toEqual([{ url: B, short: 'https://dub.sh/1' }]);
    expect([shortener.made.dub, shortener.asked.filter((one) => one === 'PUT /links/upsert').length]).toEqual([[B], 2]);
  });

  test('after its maker went silent: only a request surely not sent, or one with a repeatable answer, is repeated', async () => {
    const crash = async (provider: string | null) => {
      const one = await stored(`Look: ${A}`);
      if (provider !== null) await setUp.set(one.orgId, provider);
      await db.sql`
        update short_links
        set state = 'asking', attempt = 1, ask_at = now() - interval '1 second', provider_id = ${provider},
          provider_version = ${provider && 'v1'}
        where post_id = ${one.post.id}`;
      return { ...one, answer: await links.decide(one.orgId, one.post.id) };
    };
    const before = await crash(null);
    expect(before.answer).toEqual([{ url: A, short: 'https://is.gd/1' }]);
    const doubtful = await crash('isgd');
    expect(doubtful.answer).toEqual([{ url: A, short: null }]);
    expect(await told(doubtful.post.id)).toEqual([
      { message: expect.stringContaining('nobody knows'), data: { original: A, short: null } },
    ]);
    expect((await crash('dub')).answer).toEqual([{ url: A, short: 'https://dub.sh/1' }]);
    expect(shortener.asked).toEqual(['GET /create.php', 'PUT /links/upsert']);
  });

  test('after its maker went silent while its post was a draft: it is asked for again once the post is scheduled', async () => {
    const left = async () => {
      const one = await stored(`Look: ${A}`);
      await db.sql`update posts set state = 'DRAFT', detail = null where id = ${one.post.id}`;
      await db.sql`
        update short_links
        set state = 'asking', attempt = 1, ask_at = now() - interval '1 second'
        where post_id = ${one.post.id}`;
      return one;
    };
    const [scheduled, due] = [await left(), await left()];
    {
      await using _maker = links.startMaker({ restMs: 20 });
      await eventually('nobody asks for them', async () => {
        const rows = [...(await rowsOf(scheduled.post.id)), ...(await rowsOf(due.post.id))];
        return rows.every(({ timed }) => !timed);
      });
    }
    for (const { post } of [scheduled, due])
      await db.sql`update posts set state = 'QUEUE', detail = 'scheduled' where id = ${post.id}`;
    await links.replan(db.sql, scheduled.orgId, scheduled.post.id, true);
    expect(await rowsOf(scheduled.post.id)).toMatchObject([{ state: 'asking', attempt: 1, timed: true }]);
    expect(await links.decide(due.orgId, due.post.id)).toEqual([{ url: A, short: 'https://is.gd/1' }]);
  });

  test('after its maker died before the answer: the provider asked is stored before the request is sent', async () => {
    const { orgId, post } = await stored(`Look: ${A}`);
    await using gone = new AsyncDisposableStack(); // ends when its line is cut
    await using away = await startShortener();
    const there = await elsewhere(gone, { servers: away.servers });
    away.on('GET /create.php', 'silence');
    await db.sql`update short_links set ask_at = now() where post_id = ${post.id}`;
    gone.use(there.startMaker({ restMs: 20 }));
    await eventually('asked', () => away.asked.length === 1);
    await db.sql`
      update short_links set ask_at = now() - interval '1 second' where post_id = ${post.id}`; // nothing is heard of it
    expect(await links.decide(orgId, post.id)).toEqual([{ url: A, short: null }]);
    expect([away.asked, shortener.asked]).toEqual([['GET /create.php'], []]);
    expect(await told(post.id)).toEqual([
      { message: expect.stringContaining('nobody knows'), data: { original: A, short: null } },
    ]);
  });

  test('by an answer that arrives after the post was published', async () => {
    const { orgId, post } = await stored(`Look: ${A}`);
    await using opened = new AsyncDisposableStack();
    // it waits for no answer
    const slow = await elsewhere(opened, { clock: clockWhere((ms) => (ms === 2_000 ? 0 : ms)) });
    shortener.on('GET /create.php', 'silence', 1);
    expect(await slow.decide(orgId, post.id)).toEqual([{ url: A, short: null }]);
    const [row] = await db.sql`select id, attempt from short_links where post_id = ${post.id}`;
    const { markMade } = await import('../../../src/publishing/shortlinks/outcome-store.ts');
    await markMade(
      db.sql,
      { id: row!['id'], orgId, postId: post.id, url: A, attempt: row!['attempt'], doubtful: null },
      { id: 'late', shortUrl: 'https://is.gd/late' },
    );
    expect(await links.decide(orgId, post.id)).toEqual([{ url: A, short: null }]);
    expect(await told(post.id)).toHaveLength(1);
  });

  test('and another organization gets none of them', async () => {
    const { orgId, post } = await stored(`Look: ${A}`);
    const other = await seedOrg(db.sql);
    expect(await links.decide(other.orgId, post.id)).toEqual([]);
    expect(await rowsOf(post.id)).toMatchObject([{ state: 'waiting', attempt: 0 }]);
    await links.replan(db.sql, other.orgId, post.id, false);
    expect(await rowsOf(post.id)).toHaveLength(1);
    await links.decide(orgId, post.id);
    expect([await links.clicks(other.orgId, post.id), (await links.clicks(orgId, post.id)).length]).toEqual([[], 1]);
  });
});

describe('the provider of a short link is', () => {
  const chosen = async (named: string | null, own: Parameters<SetUp['set']>[1][], shared: string[]) => {
    const { orgId, channelId } = await seedOrg(db.sql);
    if (named !== null)
      await db.sql`
        update organizations set settings = ${db.sql.json({ defaultShortlinkProviderId: named })} where id = ${orgId}`;
    await setUp.set(orgId, ...own);
    await setUp.set(null, ...shared);
    const post = linked(channelId, `Look: ${A}`, { publishDate: systemClock.in(2 * HOUR) });
    await admit(world, orgId, [post]);
    return (await links.decide(orgId, post.id))[0]!.short?.replace(/\/\d+$/, '') ?? null;
  };
  test.each([
    ['the one that the organization has named', 'dub', ['isgd', 'dub'], ['isgd'], 'https://dub.sh'],
    [
      'its default before that of the instance, where it has named none [S163]',
      null,
      ['dub', 'isgd'],
      ['isgd'],
      'https://dub.sh',
    ],
    ['that of the instance, where it has none', null, [], ['dub'], 'https://dub.sh'],
    ['the named one by the settings of the instance [S163]', 'dub', ['isgd'], ['dub'], 'https://dub.sh'],
    ['the named one without settings, where none are needed', 'isgd', [], [], 'https://is.gd'],
    ['nobody where the named one has no settings and needs some', 'dub', ['isgd'], ['isgd'], null],
    ['nobody where the organization has switched the named one off', 'dub', [{ off: 'dub' }], ['dub'], null],
  ])('%s', async (_, named, own, shared, expected) => {
    expect(await chosen(named, own, shared)).toBe(expected);
  });
});
