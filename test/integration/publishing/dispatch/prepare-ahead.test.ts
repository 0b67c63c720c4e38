// oxlint-disable max-lines -- one database and one network serve all cases
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Clock, ProviderError, systemClock } from '../../../../src/platform/kernel/index.ts';
import type { NewPost } from '../../../../src/publishing/posts/index.ts';
import type { Step } from '../../../../src/providers/registry/index.ts';
import { noEngine } from '../../../support/worlds/app.ts';
import { picture } from '../../../support/worlds/samples.ts';
import { testDatabase, type TestDatabase } from '../../../support/wire/database.ts';
import { gate } from '../../../support/wire/eventually.ts';
import { type Receiver, startReceiver } from '../../../support/wire/receiver.ts';
import { settles } from '../../../support/wire/settles.ts';
import {
  admit,
  clockWhere,
  newPost,
  openNetwork,
  openPublishing,
  type Network,
  postActorOf,
  type Publisher,
  seedOrg,
  settled,
  startPublisher,
  stateOf,
} from '../../../support/worlds/publishing/world.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

let db: TestDatabase;
let site: Receiver;
let network: Network;
let world: Publisher;
const folder = mkdtempSync(join(tmpdir(), 'rookery-ahead-')); // of all hosts
const env = { UPLOAD_FOLDER: folder };
beforeAll(async () => {
  db = await testDatabase();
  const png = await picture(8, 8);
  site = await startReceiver({ answer: (response) => void response.writeHead(200).end(png) });
});
afterAll(async () => {
  await site[Symbol.asyncDispose]();
  await db[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

async function start({ clock }: { clock?: Clock } = {}) {
  await db.sql`delete from network_paces`;
  await db.sql`delete from organizations`;
  network = openNetwork();
  world = await startPublisher({ url: db.url, network, env, ...(clock && { clock }) });
  return { [Symbol.asyncDispose]: () => world[Symbol.asyncDispose]() };
}
/** The posts of a host beside that of `world`, whose reminders nobody has. */
const openOther = () => openPublishing({ url: db.url, network, env, engine: noEngine });

interface Row {
  saved: { value: unknown; ahead?: { attempt: number; isReady: boolean } } | null;
  /** Whether somebody prepares it, or did. */
  held: boolean;
  taken: boolean;
  /** When it is prepared again; null: never. */
  againMs: number | null;
}
const rowOf = async (postId: string): Promise<Row> =>
  (
    await db.sql<Row[]>`
    select saved, preparation is not null as held, prepare_at is not null as taken, case
      when prepare_at < 'infinity' then round(extract(epoch from prepare_at - now()) * 1000)::float8
    end as "againMs"
    from posts where id = ${postId}`
  )[0]!;
const savedOf = async (postId: string) => (await rowOf(postId)).saved?.value;
const isReady = (postId: string) => settles(async () => expect((await rowOf(postId)).saved?.ahead?.isReady).toBe(true));
const isLeft = (postId: string) =>
  settles(async () => expect(await rowOf(postId)).toMatchObject({ taken: true, held: false }));
const kindsOf = async (postId: string) =>
  (await db.sql`select kind from post_timeline where post_id = ${postId} order by id`).map(
    ({ kind }) => kind as string,
  );
const windows = async () =>
  (await db.sql<{ posts: number }[]>`select posts from network_paces order by key`).map(({ posts }) => posts);

/** A post with a picture that is due in ten minutes. */
async function film(more: Partial<NewPost> = {}) {
  const { orgId, channelId } = await seedOrg(db.sql);
  const media = [{ path: `${site.url}/a.png`, alt: '' }];
  const post = newPost(channelId, { content: 'film', media, publishDate: systemClock.in(10 * MINUTE), ...more });
  await admit(world, orgId, [post]);
  return { orgId, channelId, post };
}
/** As when the publish date comes. */
async function dueNow(orgId: string, postId: string) {
  await db.sql`update posts set publish_date = now(), due_at = now() where id = ${postId}`;
  await db.sql`
    update channels set next_due_at = now() - interval '1 minute', due_version = due_version + 1 where org_id = ${orgId}`;
  await world.reconciler.sweep();
}
const found = async () => (await world.reconciler.sweep())!.prepared;

/** A network that saves a step, and stands in the middle of the next one when `entered` has passed. */
function standsInTheMiddle() {
  const [entered, goesOn] = [gate(), gate()];
  const handles: Step[] = [];
  network.prepare = async (_post, handle) => {
    handles.push(handle);
    if (handles.length > 1) return 'ready';
    await handle.save({ upload: 1 });
    entered.open();
    await goesOn.passed;
    return 'ready';
  };
  return { handles, entered, goesOn };
}

describe('a post with media on a network that is prepared', () => {
  test('is ready before its date, goes out at it with what was saved, and is not prepared again', async () => {
    await using _running = await start();
    const steps: unknown[] = [];
    network.prepare = async ({ media }, handle) => {
      steps.push([handle.saved, media.length]);
      await handle.save({ parts: steps.length });
      return steps.length < 3 ? { againMs: 1 } : 'ready';
    };
    const { orgId, post } = await film();
    expect(await found()).toBe(1);
    await isReady(post.id);
    expect(await rowOf(post.id)).toMatchObject({ held: false, againMs: null });
    expect(await stateOf(db.sql, post.id)).toMatchObject({ state: 'QUEUE', detail: 'scheduled', attempt: 0 });
    expect(await found()).toBe(0);
    expect(network.asked).toEqual([]);

    await dueNow(orgId, post.id);
    await settled(db.sql, orgId);
    expect(steps).toEqual([
      [undefined, 1],
      [{ parts: 1 }, 1],
      [{ parts: 2 }, 1],
    ]);
    expect(network.asked.map(({ handle }) => handle.saved)).toEqual([{ parts: 3 }]);
    expect(await stateOf(db.sql, post.id)).toMatchObject({ state: 'PUBLISHED', attempt: 1 });
    expect(await kindsOf(post.id)).toEqual(['created', 'claimed', 'published']);
  });

  test('registers nothing when it is created, and one without media, far away or at another network never', async () => {
    await using _running = await start();
    const media = [{ path: '/uploads/own.png', alt: '' }];
    const { orgId, channelId, post } = await film({ media });
    const [text, soon, later] = [
      newPost(channelId, { publishDate: systemClock.in(10 * MINUTE) }),
      newPost(channelId, { media, publishDate: systemClock.in(30_000) }),
      newPost(channelId, { media, publishDate: systemClock.in(HOUR) }),
    ];
    await admit(world, orgId, [text, soon, later]);
    expect(await db.sql`select name from actor_reminders where type = 'Post'`).toEqual([]);
    expect(await found()).toBe(0);
    network.prepare = async () => 'ready';
    expect(await found()).toBe(1);
    await isLeft(post.id);
    expect(await found()).toBe(0);
    for (const { id } of [text, soon, later]) expect(await world.posts.claimPreparation(orgId, id)).toBeUndefined();
  });

  test('begins anew when it is edited meanwhile, and what the old preparation saves is refused', async () => {
    await using _running = await start();
    const { handles, entered } = standsInTheMiddle();
    const { orgId, post } = await film();
    await found();
    await entered.passed;
    await postActorOf(world, orgId, post.id).edit({ content: 'another film' });
    expect(await rowOf(post.id)).toMatchObject({ saved: null, held: false });
    await expect(handles[0]!.save({ upload: 'old' })).rejects.toMatchObject({ failure: 'lost' });
    expect(await found()).toBe(1);
    await settles(() => expect(handles).toHaveLength(2));
    expect(handles[1]!.saved).toBeUndefined();
    await expect(handles[0]!.save({ upload: 'old' })).rejects.toMatchObject({ failure: 'lost' });
    await isLeft(post.id);
    expect(await savedOf(post.id)).toBeUndefined();
  });

  test('ends being prepared when it is deleted', async () => {
    await using _running = await start();
    const { handles, entered } = standsInTheMiddle();
    const { orgId, post } = await film();
    await found();
    await entered.passed;
    await postActorOf(world, orgId, post.id).cancel({});
    await expect(handles[0]!.save({ upload: 2 })).rejects.toMatchObject({ failure: 'lost' });
  });

  test('goes on from what was saved when it becomes due in the middle, and goes out once', async () => {
    await using _running = await start();
    const { handles, entered, goesOn } = standsInTheMiddle();
    const { orgId, post } = await film();
    await found();
    await entered.passed;
    await dueNow(orgId, post.id);
    await settled(db.sql, orgId);
    await expect(handles[0]!.save({ upload: 'late' })).rejects.toMatchObject({ failure: 'lost' });
    goesOn.open();
    expect(handles[1]!.saved).toEqual({ upload: 1 });
    expect(network.asked.map(({ handle }) => handle.saved)).toEqual([{ upload: 1 }]);
    expect(await stateOf(db.sql, post.id)).toMatchObject({ state: 'PUBLISHED', attempt: 1 });
  });

  test('is left to its channel at its date', async () => {
    const date = gate();
    await using _running = await start({
      clock: clockWhere((ms) => (ms > 9 * MINUTE && ms <= 10 * MINUTE ? date.passed : ms)),
    });
    let steps = 0;
    network.prepare = async () => ((steps += 1), { againMs: 1 });
    const { post } = await film();
    await found();
    await settles(() => expect(steps).toBeGreaterThan(0));
    date.open();
    await systemClock.sleep(100);
    const before = steps;
    await systemClock.sleep(1_500);
    expect(steps).toBe(before);
    expect(await stateOf(db.sql, post.id)).toMatchObject({ detail: 'scheduled', attempt: 0 });
  });

  test('has the time for its files in a step', async () => {
    const [entered, minute, goesOn] = [gate(), gate(), gate()];
    let waits = 0;
    await using _running = await start({
      clock: clockWhere((ms) => (ms > MINUTE - 5_000 && ms <= MINUTE && waits++ === 0 ? minute.passed : ms)),
    });
    network.prepare = async (_post, handle) => {
      entered.open();
      await goesOn.passed;
      await handle.save({ upload: 1 });
      return 'ready';
    };
    const { post } = await film();
    await found();
    await entered.passed;
    minute.open(); // a call without files is over
    await systemClock.sleep(100);
    goesOn.open();
    await isReady(post.id);
  });

  test('that has to wait for long is taken again after that, and goes on', async () => {
    await using _running = await start();
    const steps: unknown[] = [];
    network.prepare = async (_post, handle) => {
      if (steps.push(handle.saved) > 1) return 'ready';
      await handle.save({ upload: 1 });
      return { againMs: 2 * MINUTE };
    };
    const { post } = await film();
    await found();
    await isLeft(post.id);
    const { againMs } = await rowOf(post.id);
    expect(againMs).toBeGreaterThan(MINUTE);
    expect(againMs).toBeLessThanOrEqual(2 * MINUTE);
    expect(await found()).toBe(0);
    await db.sql`update posts set prepare_at = now() where id = ${post.id}`;
    expect(await found()).toBe(1);
    await isReady(post.id);
    expect(steps).toEqual([undefined, { upload: 1 }]);
  });
});

describe('a post with media from outside, on any network', () => {
  test('has them fetched before its date, goes out with the copy, and another post of the hour takes the same [S260]', async () => {
    await using _running = await start();
    const before = site.ledger.length;
    const { orgId, channelId, post } = await film();
    expect(await found()).toBe(1);
    await isLeft(post.id);
    expect(site.ledger).toHaveLength(before + 1);
    expect(await rowOf(post.id)).toMatchObject({ held: false, againMs: null, saved: null });
    expect(await found()).toBe(0);
    const next = newPost(channelId, { media: post.media, publishDate: systemClock.in(12 * MINUTE) });
    await admit(world, orgId, [next]);
    expect(await found()).toBe(1);
    await isLeft(next.id);
    await dueNow(orgId, post.id);
    await dueNow(orgId, next.id);
    await settled(db.sql, orgId);
    expect(site.ledger).toHaveLength(before + 1);
    expect(network.asked).toHaveLength(2);
  });

  test('says once that they cannot be had, tries again after a minute, and fails for them at its date [S102, S260]', async () => {
    await using _running = await start();
    await using empty = await startReceiver({ answer: (response) => void response.writeHead(404).end('no') });
    const { orgId, post } = await film({ media: [{ path: `${empty.url}/gone.png`, alt: '' }] });
    for (const tries of [1, 2]) {
      expect(await found()).toBe(1);
      await settles(async () => {
        const { held, againMs } = await rowOf(post.id);
        expect([held, Math.ceil((againMs ?? 0) / MINUTE), empty.ledger.length]).toEqual([false, 1, tries]);
      });
      expect(await found()).toBe(0);
      await db.sql`update posts set prepare_at = now() where id = ${post.id}`;
    }
    expect(await kindsOf(post.id)).toEqual(['created', 'retry_planned']);
    expect(await stateOf(db.sql, post.id)).toMatchObject({ detail: 'scheduled', attempt: 0, errorKind: null });
    await dueNow(orgId, post.id);
    await settled(db.sql, orgId);
    expect(await stateOf(db.sql, post.id)).toMatchObject({ state: 'ERROR', errorKind: 'media_processing' });
    expect(network.asked).toEqual([]);
  });
});

describe('a post whose only file is in its settings', () => {
  /** A cover as an address, or as the library shows a file. */
  const covers = ['address', 'file'] as const;
  test.each(covers)('is prepared by its network before its date, with that file: %s', async (form) => {
    await using _running = await start();
    network.declares = { fileSettings: ['cover'] };
    const steps: unknown[] = [];
    network.prepare = async ({ media, files }, handle) => {
      steps.push([media.length, Object.keys(files ?? {})]);
      await handle.save({ cover: 1 });
      return 'ready';
    };
    const path = `${site.url}/cover-${form}.png`;
    const settings = { cover: form === 'address' ? path : { id: 'f1', path }, title: 'A' };
    const { orgId, post } = await film({ media: [], settings });
    expect(await found()).toBe(1);
    await isReady(post.id);
    await dueNow(orgId, post.id);
    await settled(db.sql, orgId);
    expect(steps).toEqual([[0, ['cover']]]);
    expect(network.asked.map(({ handle, files }) => [handle.saved, Object.keys(files ?? {})])).toEqual([
      [{ cover: 1 }, ['cover']],
    ]);
  });

  test('has it fetched before its date on any network, behind a root too; another address or none is no file [S260]', async () => {
    await using _running = await start();
    network.declares = { fileSettings: ['cover'] };
    const before = site.ledger.length;
    const { orgId, channelId, post } = await film({ media: [], settings: { cover: `${site.url}/outside.png` } });
    const [linked, none] = [{ link: `${site.url}/page` }, { cover: '' }].map((settings) =>
      newPost(channelId, { settings, publishDate: systemClock.in(10 * MINUTE) }),
    );
    const root = newPost(channelId, { publishDate: systemClock.in(10 * MINUTE) });
    const behind = newPost(channelId, {
      rootPostId: root.id,
      parentPostId: root.id,
      settings: { cover: `${site.url}/behind.png` },
      publishDate: root.publishDate,
    });
    await admit(world, orgId, [linked!, none!, root, behind]);
    expect(await found()).toBe(2);
    await isLeft(post.id);
    await isLeft(behind.id);
    expect(
      site.ledger
        .slice(before)
        .map(({ path }) => path)
        .toSorted(),
    ).toEqual(['/behind.png', '/outside.png']);
    expect(await found()).toBe(0);
  });
});

describe('a preparation that fails', () => {
  test.each([
    ['unavailable', 2 * MINUTE],
    ['lost', 2 * MINUTE],
    ['rejected', null],
  ] as const)('is no failed attempt: %s', async (failure, againMs) => {
    await using _running = await start();
    let calls = 0;
    network.prepare = async () => {
      if (++calls === 1) throw new ProviderError(failure, 'no');
      return 'ready';
    };
    const { orgId, post } = await film();
    await found();
    await settles(async () => {
      const { held, againMs: left } = await rowOf(post.id);
      expect([held, left === null ? null : Math.ceil(left / MINUTE) * MINUTE, calls]).toEqual([false, againMs, 1]);
    });
    expect(await stateOf(db.sql, post.id)).toMatchObject({ detail: 'scheduled', attempt: 0, errorKind: null });
    expect(await kindsOf(post.id)).toEqual(['created']);
    await dueNow(orgId, post.id);
    await settled(db.sql, orgId);
    expect(await stateOf(db.sql, post.id)).toMatchObject({ state: 'PUBLISHED', attempt: 1 });
    expect(calls).toBe(2);
  });

  test('hands the post back when the host goes away, with what was saved', async () => {
    let postId: string;
    {
      await using _running = await start();
      const { entered } = standsInTheMiddle();
      ({ id: postId } = (await film()).post);
      await found();
      await entered.passed;
    }
    const { held, againMs, saved } = await rowOf(postId);
    expect(held).toBe(false);
    expect(againMs).toBeLessThanOrEqual(0);
    expect(saved!.value).toEqual({ upload: 1 });
  });
});

describe('of several hosts', () => {
  test('one prepares a post', async () => {
    await using _running = await start();
    network.prepare = async () => 'ready';
    await using other = await openOther();
    for (let n = 0; n < 5; n++) {
      const { orgId, post } = await film();
      const taken = await Promise.all(
        [world, other, world, other].map(({ posts }) => posts.claimPreparation(orgId, post.id)),
      );
      expect(taken.filter((one) => one !== undefined)).toHaveLength(1);
    }
  });

  test('one that dies in the middle leaves what it saved to the attempt', async () => {
    await using _running = await start();
    const { handles, entered, goesOn } = standsInTheMiddle();
    await using other = await openOther();
    const { orgId, post } = await film();
    void other.posts.prepareAhead((await other.posts.claimPreparation(orgId, post.id))!);
    await entered.passed;
    expect(await found()).toBe(0);
    await dueNow(orgId, post.id);
    await settled(db.sql, orgId);
    expect(network.asked.map(({ handle }) => handle.saved)).toEqual([{ upload: 1 }]);
    await expect(handles[0]!.save({ upload: 2 })).rejects.toMatchObject({ failure: 'lost' });
    goesOn.open();
  });

  test('another goes on when one has given no sign of life for long, and the first one is refused', async () => {
    await using _running = await start();
    const { handles, entered, goesOn } = standsInTheMiddle();
    await using other = await openOther();
    const { orgId, post } = await film();
    void other.posts.prepareAhead((await other.posts.claimPreparation(orgId, post.id))!);
    await entered.passed;
    const { againMs } = await rowOf(post.id);
    expect(againMs).toBeGreaterThan(MINUTE);
    await db.sql`update posts set prepare_at = now() where id = ${post.id}`;
    expect(await found()).toBe(1);
    await isReady(post.id);
    expect(handles[1]!.saved).toEqual({ upload: 1 });
    await expect(handles[0]!.save({ upload: 2 })).rejects.toMatchObject({ failure: 'lost' });
    goesOn.open();
  });
});

describe('what was prepared ahead', () => {
  const prepares = () => {
    const steps: unknown[] = [];
    network.prepare = async (_post, handle) => {
      steps.push(handle.saved);
      await handle.save({ upload: steps.length });
      return 'ready';
    };
    return steps;
  };
  /** A post that is ready, and asks the network to get ready again where it has to. */
  async function ready() {
    const steps = prepares();
    const made = await film();
    await found();
    await isReady(made.post.id);
    return { ...made, steps };
  }

  test('is looked at again by an attempt after one that failed', async () => {
    await using _running = await start();
    const { orgId, post, steps } = await ready();
    network.behave = async () => {
      network.behave = undefined;
      throw new ProviderError('unavailable', 'no', { retryAfterMs: 1 });
    };
    await dueNow(orgId, post.id);
    await settled(db.sql, orgId);
    expect(steps).toEqual([undefined, { upload: 1 }]);
    expect(network.asked.map(({ handle }) => handle.saved)).toEqual([{ upload: 1 }, { upload: 2 }]);
  });

  test('is of no use an hour later', async () => {
    await using _running = await start();
    const { orgId, post, steps } = await ready();
    await db.sql`
      update posts
      set saved = jsonb_set(saved, '{ahead,at}', to_jsonb(now() - interval '61 minutes'))
      where id = ${post.id}`;
    await dueNow(orgId, post.id);
    await settled(db.sql, orgId);
    expect(steps).toEqual([undefined, undefined]);
    expect(network.asked.map(({ handle }) => handle.saved)).toEqual([{ upload: 2 }]);
  });

  test('is kept when the date alone is changed, and made ready again for a date that comes later', async () => {
    await using _running = await start();
    const { orgId, post, steps } = await ready();
    await postActorOf(world, orgId, post.id).edit({ publishDate: systemClock.in(5 * MINUTE) });
    expect(await savedOf(post.id)).toEqual({ upload: 1 });
    expect(await found()).toBe(1);
    await settles(() => expect(steps).toEqual([undefined, { upload: 1 }]));
    await isLeft(post.id);
    await postActorOf(world, orgId, post.id).edit({ publishDate: systemClock.in(20 * HOUR) });
    expect(await found()).toBe(0);
    await db.sql`
      update posts set publish_date = now() + interval '10 minutes', due_at = now() + interval '10 minutes',
        saved = jsonb_set(saved, '{ahead,at}', to_jsonb(now() - interval '20 hours'))
      where id = ${post.id}`;
    expect(await found()).toBe(1);
    await settles(() => expect(steps).toEqual([undefined, { upload: 1 }, undefined]));
  });

  test('is dropped when the content is edited, and prepared anew', async () => {
    await using _running = await start();
    const { orgId, post, steps } = await ready();
    await postActorOf(world, orgId, post.id).edit({ content: 'another film' });
    expect(await rowOf(post.id)).toMatchObject({ saved: null });
    expect(await found()).toBe(1);
    await isReady(post.id);
    expect(steps).toEqual([undefined, undefined]);
  });

  test('counts once in the pace of the network, when it goes out', async () => {
    await using _running = await start();
    network.declares = { pace: [{ per: 'account', posts: 1, ms: HOUR }] };
    const { orgId, post } = await ready();
    expect(await windows()).toEqual([]);
    network.behave = async () => {
      network.behave = undefined;
      throw new ProviderError('unavailable', 'no', { retryAfterMs: 1 });
    };
    await dueNow(orgId, post.id);
    await settled(db.sql, orgId);
    expect(await stateOf(db.sql, post.id)).toMatchObject({ state: 'PUBLISHED', attempt: 2 });
    expect(await windows()).toEqual([1]);
  });

  test('waits for its turn in the pace as others do, and is counted then', async () => {
    await using _running = await start();
    network.declares = { pace: [{ per: 'account', posts: 1, ms: HOUR }] };
    const { orgId, channelId, post } = await ready();
    const text = newPost(channelId);
    await admit(world, orgId, [text]);
    await settles(async () => expect(await stateOf(db.sql, text.id)).toMatchObject({ state: 'PUBLISHED' }));
    await dueNow(orgId, post.id);
    await settles(async () => expect((await kindsOf(post.id)).at(-1)).toBe('rate_limited'));
    await db.sql`update network_paces set posts = 0`;
    await db.sql`update channels set resting_until = null where org_id = ${orgId}`;
    await dueNow(orgId, post.id);
    await settled(db.sql, orgId);
    expect(await stateOf(db.sql, post.id)).toMatchObject({ state: 'PUBLISHED', attempt: 2 });
    expect(await windows()).toEqual([1]);
  });

  test('leaves the network the whole of its time from the date on', async () => {
    await using _running = await start();
    network.processesWithinMs = 1;
    network.prepare = async (_post, handle) => {
      if (handle.saved === undefined) await handle.save({ upload: 1 });
      return { againMs: MINUTE };
    };
    const { orgId, post } = await film();
    await found();
    await isLeft(post.id);
    expect(await savedOf(post.id)).toEqual({ upload: 1 });
    await dueNow(orgId, post.id);
    await settles(async () => expect((await kindsOf(post.id)).at(-1)).toBe('accepted'));
    expect(await stateOf(db.sql, post.id)).toMatchObject({ state: 'QUEUE', detail: 'scheduled', error: null });
  });
});
