import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, test } from '@jest/globals';
import { openDatabase } from '../../../src/platform/db/index.ts';
import { newId, ProviderError, systemClock } from '../../../src/platform/kernel/index.ts';
import { startSystemPostgres, systemPostgres } from '../../support/processes/system-postgres.ts';
import { testDatabase } from '../../support/wire/database.ts';
import { gate } from '../../support/wire/eventually.ts';
import { settles } from '../../support/wire/settles.ts';
import { belowPosts, followUpsOf } from '../../support/worlds/publishing/follow-ups.ts';
import {
  admit,
  newPost,
  openNetwork,
  type Publisher,
  seedOrg,
  startPublisher,
  stateOf,
} from '../../support/worlds/publishing/world.ts';

// A copy of the database, made while posts wait and one is under way, is all that a service needs that starts elsewhere.

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const HOUR = 3_600_000;
const named = (url: string, name: string) => Object.assign(new URL(url), { pathname: `/${name}` }).href;

/** The commands of the page, the first ones below its heading. */
const [, commands] = /## Backup and restore\n[\s\S]*?```sh\n([\s\S]*?)```/.exec(
  readFileSync(join(ROOT, 'docs/operations.md'), 'utf8'),
)!;

/** Runs the commands of the page as they stand there; answers what they said. */
async function saveAndRestore(bin: string, url: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'rookery-restore-'));
  try {
    symlinkSync(join(ROOT, 'rookery.mjs'), join(folder, 'rookery.mjs'));
    const env = {
      ...process.env,
      PATH: [bin, process.env['PATH']].join(delimiter),
      DATABASE_URL: url,
      RESTORED_URL: named(url, 'restored'),
    };
    return (await promisify(execFile)('bash', ['-euc', commands!], { cwd: folder, env })).stdout;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** A service with posts that are due in an hour, each with a first comment; one that is out, whose comment failed. */
async function fill(world: Publisher) {
  const { orgId, channelIds } = await seedOrg(world.sql, 3);
  const settings = { firstComment: '<p>First</p>' };
  const waiting = channelIds.flatMap((channelId) =>
    [0, 1].map((n) => newPost(channelId, { settings, publishDate: systemClock.in(HOUR + n * 1_000) })),
  );
  const [root, item] = [newId(), newId()];
  const thread = [
    newPost(channelIds[0]!, { id: root, settings, publishDate: systemClock.in(HOUR) }),
    newPost(channelIds[0]!, { id: item, rootPostId: root, parentPostId: root, publishDate: systemClock.in(HOUR) }),
  ];
  const out = newPost(channelIds[1]!, { settings });
  await admit(world, orgId, [...waiting, ...thread, out]);
  await settles(async () =>
    expect(await followUpsOf(world.sql, out.id)).toMatchObject([{ state: 'waiting', attempt: 1, incarnation: null }]),
  );
  return { orgId, channelId: channelIds[2]!, out, posts: [...waiting, ...thread, out].map(({ id }) => id) };
}

/** Lets an hour pass for all that waits. `withReminders` false: as where a scheduler beside the database has none. */
async function passAnHour(url: string, withReminders: boolean): Promise<void> {
  const sql = openDatabase({ url, connections: 1 });
  await sql`
    update posts
    set publish_date = publish_date - interval '1 hour', due_at = due_at - interval '1 hour'
    where state = 'QUEUE' and detail = 'scheduled'`;
  await sql`
    update channels
    set next_due_at = next_due_at - interval '1 hour', reminder_due_at = reminder_due_at - interval '1 hour'`;
  await sql`update post_follow_ups set due_at = due_at - interval '1 hour'`;
  if (withReminders) await sql`update actor_reminders set due_at = due_at - interval '1 hour'`;
  else await sql`truncate actor_reminders`;
  await sql.end();
}

/** Starts where the copy is, until all is done that waited there. */
async function finish(url: string, network: ReturnType<typeof openNetwork>, posts: readonly string[]) {
  await using world = await startPublisher({ url, network });
  await settles(async () => {
    const left = await world.sql`
      select id, state, detail from posts where state <> 'PUBLISHED'
      union all
      select post_id, kind, state from post_follow_ups where state <> 'done'`;
    if (left.length > 0) {
      await world.reconciler.sweep();
      await systemClock.sleep(200);
    }
    expect(left).toEqual([]);
  }, 50_000);
  for (const id of posts) expect(await stateOf(world.sql, id)).toMatchObject({ state: 'PUBLISHED' });
}

const bin = systemPostgres();
const reminders = [
  ['with its reminders', true],
  ['with an empty scheduler', false],
] as const;

(bin === undefined
  ? (name: string, cases: () => void) => describe.skip(`${name} [skipped: no pg_dump with its server]`, cases)
  : describe)('a backup of a service that runs, by the commands of the page,', () => {
  test('publishes all that waited where it is restored, with an empty scheduler, and nothing twice [R18]', async () => {
    await using postgres = await startSystemPostgres(bin!);
    const network = openNetwork();
    const below = belowPosts(network);
    below.behave = () => Promise.reject(new ProviderError('unavailable', 'Later'));
    const answer = gate();
    let filled: Awaited<ReturnType<typeof fill>>;
    let underWay: string;
    {
      await using world = await startPublisher({ url: postgres.url, network });
      filled = await fill(world);
      // one is under way at the backup: the network takes it, and the copy does not know
      const post = newPost(filled.channelId);
      underWay = post.id;
      network.behave = async (_, __, accept) => (await answer.passed, accept());
      await admit(world, filled.orgId, [post]);
      await settles(async () => expect(network.asked.some(({ postId }) => postId === underWay)).toBe(true));
      expect(await saveAndRestore(bin!, postgres.url)).toContain('Nothing to migrate.');
      answer.open();
      await settles(async () => expect(await stateOf(world.sql, underWay)).toMatchObject({ state: 'PUBLISHED' }));
    }
    below.behave = undefined;
    await passAnHour(named(postgres.url, 'restored'), false);
    const posts = [...filled.posts, underWay];
    await finish(named(postgres.url, 'restored'), network, posts);
    expect(network.taken.map(({ postId }) => postId).toSorted()).toEqual(posts.toSorted());
    expect(new Set(below.made.map((one) => one.below)).size).toBe(below.made.length);
    expect(below.made).toHaveLength(8);
  }, 120_000);
});

describe('a copy of a database (create database … template, as npm has no pg_dump)', () => {
  test.each(reminders)('publishes all that waited, %s, and nothing twice [R18]', async (_, withReminders) => {
    await using db = await testDatabase();
    const network = openNetwork();
    const below = belowPosts(network);
    below.behave = () => Promise.reject(new ProviderError('unavailable', 'Later'));
    let posts: readonly string[];
    {
      await using world = await startPublisher({ url: db.url, network });
      ({ posts } = await fill(world));
    }
    below.behave = undefined;
    const name = `${new URL(db.url).pathname.slice(1)}_restored`;
    await db.sql.end();
    await using root = Object.assign(openDatabase({ url: named(db.url, 'postgres'), connections: 1 }), {
      async [Symbol.asyncDispose]() {
        await root.unsafe(`drop database if exists ${name} with (force)`);
        await root.end();
      },
    });
    await root.unsafe(`create database ${name} template ${new URL(db.url).pathname.slice(1)}`);
    await passAnHour(named(db.url, name), withReminders);
    await finish(named(db.url, name), network, posts);
    expect(network.taken.map(({ postId }) => postId).toSorted()).toEqual([...posts].toSorted());
    expect(new Set(below.made.map((one) => one.below)).size).toBe(below.made.length);
    expect(below.made).toHaveLength(8);
  });
});
