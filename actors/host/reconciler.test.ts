import { expect, test } from '@jest/globals';
import type { Actors } from '../../src/platform/actor-runtime/index.ts';
import { AppError, systemClock } from '../../src/platform/kernel/index.ts';
import { quietLog } from '../../test/support/worlds/quiet-log.ts';
import { type ReconcilerOptions, startReconciler } from './reconciler.ts';
import type { ScanName } from './scans.ts';

const EVERY_SCAN: ReadonlySet<ScanName> = new Set([
  'takeOver',
  'wakeOverdue',
  'enter',
  'askAgain',
  'deliver',
  'goOn',
  'follow',
]);

/** A reconciler over scans that find nothing, but for those in `found`, and that are counted by their names. */
function reconciler({
  found = {},
  fails,
  signed = EVERY_SCAN,
}: {
  found?: Record<string, unknown[]>;
  fails?: { scan: string; error: Error };
  signed?: ReadonlySet<ScanName>;
}) {
  const asked: string[] = [];
  const woken: string[] = [];
  let ms = 0;
  const scan = (name: string) => async () => {
    asked.push(name);
    if (fails?.scan === name) throw fails.error;
    return found[name] ?? [];
  };
  const sweeps = Object.fromEntries(
    ['takeOver', 'overdue', 'unasked', 'pending'].map((name) => [name, scan(name)]),
  ) as unknown as ReconcilerOptions['posts']['sweeps'];
  const started = startReconciler({
    posts: { sweeps: { ...sweeps, enter: async () => 0 } },
    followUps: { overdueFollowUps: scan('followUps') as ReconcilerOptions['followUps']['overdueFollowUps'] },
    webhooks: { overdue: scan('webhooks') as ReconcilerOptions['webhooks']['overdue'] },
    signs: async () => signed,
    actors: ((_: unknown, id: string) => ({ wake: async () => void woken.push(id) })) as unknown as Actors,
    remind: () => Promise.reject(new AppError('unavailable', 'The scheduler is away')),
    lease: { held: async () => true, release: async () => {} },
    clock: { ...systemClock, monotonic: () => ms },
    heartbeat: { heartbeatAgeMs: () => 0, steadySince: () => 0 },
    log: quietLog(),
    intervalMs: 3_600_000,
  });
  /** One sweep; answers which scans it made. Five seconds pass behind it. */
  const sweep = async () => {
    asked.length = 0;
    await started.sweep().catch(() => {});
    ms += 5_000;
    return asked.slice();
  };
  return { sweep, woken, [Symbol.asyncDispose]: () => started[Symbol.asyncDispose]() };
}
const post = { orgId: 'o', postId: 'p', now: new Date() };
const ALL = ['takeOver', 'overdue', 'unasked', 'webhooks', 'pending', 'followUps'];

test('reminders that cannot be set keep no scan from what it finds, however often', async () => {
  await using one = reconciler({
    found: { unasked: [{ ...post, detail: 'processing' }], pending: [{ ...post, work: 'prepare' }] },
  });
  for (let n = 0; n < 3; n++) expect(await one.sweep()).toEqual(ALL);
});

test('channels that were taken over are woken though the look-ups of others cannot be reminded', async () => {
  const taken = [post, { ...post, postId: null }].map((one, n) => ({ ...one, channelId: `c${n}` }));
  await using one = reconciler({ found: { takeOver: taken } });
  await one.sweep();
  expect(one.woken).toEqual(['o:c1']);
});

test('a scan that always fails keeps none of the others', async () => {
  await using one = reconciler({ fails: { scan: 'overdue', error: new Error('a fault') } });
  for (let n = 0; n < 3; n++) expect(await one.sweep()).toEqual(ALL);
});

test('after the database was away hosts have the time of a silence to say that they live', async () => {
  const error = Object.assign(new Error('gone'), { code: 'CONNECTION_CLOSED' });
  const fails = { scan: 'unasked', error };
  await using one = reconciler({ fails });
  expect(await one.sweep()).toEqual(['takeOver', 'overdue', 'unasked']);
  fails.scan = '';
  expect(await one.sweep()).toEqual(['overdue', 'unasked', 'webhooks', 'pending']);
  expect(await one.sweep()).toEqual(ALL);
});

test('a scan without a sign is not made, but behind one that found something', async () => {
  await using one = reconciler({ signed: new Set<ScanName>(['askAgain']) });
  expect(await one.sweep()).toEqual(['unasked']);
  await using other = reconciler({
    signed: new Set<ScanName>(['askAgain']),
    found: { unasked: [{ ...post, detail: 'processing' }] },
  });
  expect(await other.sweep()).toEqual(['unasked', 'webhooks', 'pending', 'followUps']);
});
