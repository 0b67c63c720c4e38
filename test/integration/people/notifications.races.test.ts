import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { closeWindows } from '../../../src/people/notifications/window-store.ts';
import type { Sql } from '../../../src/platform/db/index.ts';
import type { Fact } from '../../../src/platform/outbox/index.ts';
import { emptyTables } from '../../support/wire/database.ts';
import { settles } from '../../support/wire/settles.ts';
import { type Notified, notified } from '../../support/worlds/mail/notified.ts';
import { waitingOnLock } from '../../support/wire/database/waiting-on-lock.ts';

// A notice that is added to a window while the window is closed, or its end is reckoned anew.

let world: Notified;
let ann: Awaited<ReturnType<Notified['member']>>;
let facts = 0;
beforeAll(async () => {
  world = await notified();
  ann = await world.member('member');
  await world.wish(ann, { digest: 'Daily' });
});
afterAll(() => world?.[Symbol.asyncDispose]());
beforeEach(async () => {
  await emptyTables(world.sql, 'notifications', 'notification_windows', 'emails');
});

/** Tells Ann of one more post, in a transaction. */
const tell = (tx: Sql) =>
  world.listener.hear(
    tx,
    [{ ...(world.published(ann.userId) as unknown as Fact), id: String((facts += 1)), at: new Date() }],
    () => undefined,
    () => undefined,
  );
/** A digest of one line that is due. */
async function dueDigest() {
  await world.sql.begin(tell);
  await world.sql`update notification_windows set due_at = now()`;
}
const waiting = (count: number) => settles(async () => expect(await waitingOnLock(world.sql)).toBe(count));
const close = () => world.context.notifications.closeDueWindows(10);
const headings = async () => (await world.mailsTo(ann)).map(({ heading }) => heading);
const lines = async () => (await world.sql`select from notification_lines`).count;

describe('a line of a window that is due', () => {
  test('is in its mail when it is committed after the close saw the window and before it locked it', async () => {
    await dueDigest();
    // the close reads the clock between the two: by this one, which lets it wait for the test there
    await world.sql`
      create function public.now() returns timestamptz language plpgsql as $$
      begin
        perform pg_advisory_xact_lock_shared(1);
        return pg_catalog.now();
      end $$`;
    let closing: ReturnType<typeof closeWindows> | undefined;
    await world.sql.begin(async (tx) => {
      await tx`select pg_advisory_xact_lock(1)`;
      closing = world.sql.begin(async (own) => {
        await own`set local search_path to public, pg_catalog`;
        return closeWindows(own, 10);
      });
      await waiting(1);
      await tell(tx);
    });
    const { closed, parts } = await closing!;
    expect([closed, parts.map((part) => part.lines.length), await lines()]).toEqual([1, [2], 0]);
  });

  test('waits for the next close while its commit is outstanding', async () => {
    await dueDigest();
    await world.sql.begin(async (tx) => {
      await tell(tx);
      expect(await close()).toBe(0);
    });
    expect(await close()).toBe(1);
    expect(await headings()).toEqual(['Your digest: 2 notifications']);
  });

  test('is collected by a new window when a close holds this one', async () => {
    await dueDigest();
    let both: Promise<unknown> | undefined;
    await world.sql.begin(async (tx) => {
      await tx`select from notification_lines for update`;
      const closing = close();
      await waiting(1); // it holds the window, and has not deleted its line
      both = Promise.all([closing, world.sql.begin(tell)]);
      await waiting(2);
    });
    await both;
    expect([await headings(), await lines()]).toEqual([['Your digest: 1 notification'], 1]);
    await world.sql`update notification_windows set due_at = now()`;
    expect(await close()).toBe(1);
    expect(await headings()).toEqual(['Your digest: 1 notification', 'Your digest: 1 notification']);
  });
});

test('a notice beside a change from a weekly digest to none does not wait for the week to end [S178]', async () => {
  await world.wish(ann, { digest: 'Weekly' });
  let changing: Promise<void> | undefined;
  await world.sql.begin(async (tx) => {
    await tell(tx);
    changing = world.wish(ann, { digest: 'Instant' });
    await Promise.race([changing, waiting(1)]);
  });
  await changing;
  await close();
  expect(await headings()).toEqual(['Your digest: 1 notification']);
  await world.wish(ann, { digest: 'Daily' });
});
