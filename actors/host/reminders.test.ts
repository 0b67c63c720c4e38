import { expect, test } from '@jest/globals';
import { type BillingNeeds, openBillingWing } from '../../src/billing/open.ts';
import type { ActorContract, Actors, Reminder } from '../../src/platform/actor-runtime/index.ts';
import { readConfig } from '../../src/platform/config/index.ts';
import { systemClock } from '../../src/platform/kernel/index.ts';
import { quietLog } from '../../test/support/worlds/quiet-log.ts';
import { JWT_SECRET } from '../../test/support/worlds/secret.ts';
import { channelActor } from '../channel/contract.ts';
import { organizationActor } from '../organization/contract.ts';
import { postActor } from '../post/contract.ts';
import { webhookActor } from '../webhook/contract.ts';
import { type ReconcilerOptions, startReconciler } from './reconciler.ts';
import { actorTypes } from './start.ts';

// A lost reminder is a delay, never a loss: for each there is a row that says what is due, and what looks for such rows.

/** What does the work of a reminder that is lost. */
type Carrier =
  /** A scan of the reconciler: it sets the reminder again, or calls the method that does the same. */
  | { scan: string; finds: unknown; brings: string }
  /** A sweep, which does the work itself. */
  | { sweep: string };

const post = { orgId: 'o', postId: 'p', now: new Date() };
const CARRIERS: Record<string, Carrier> = {
  // channels.next_due_at
  'Channel.due': { scan: 'wakeOverdue', finds: { orgId: 'o', channelId: 'c' }, brings: 'Channel.wake()' },
  // posts.look_up_at
  'Post.look-up': { scan: 'askAgain', finds: { ...post, detail: 'unconfirmed' }, brings: 'Post.look-up' },
  'Post.poll': { scan: 'askAgain', finds: { ...post, detail: 'processing' }, brings: 'Post.poll' },
  // posts.prepare_at
  'Post.prepare': { scan: 'goOn', finds: { ...post, work: 'prepare' }, brings: 'Post.prepare' },
  // post_follow_ups.due_at
  'Post.follow-up': { scan: 'follow', finds: post, brings: 'Post.follow-up' },
  // webhooks.due_at
  'Webhook.deliver': { scan: 'deliver', finds: 'o:w', brings: 'Webhook.deliver()' },
  // subscriptions.grace_due_at and trial_ends_at
  'Organization.transition': { sweep: 'payments' },
};

const contracts: readonly ActorContract[] = [organizationActor, channelActor, postActor, webhookActor];
const reminders = contracts.flatMap(({ type, reminders: names }) =>
  Object.keys(names).map((name) => `${type}.${name}`),
);
const carriers = Object.entries(CARRIERS);
const scans = carriers.flatMap(([reminder, carrier]) => ('scan' in carrier ? [{ reminder, ...carrier }] : []));
const sweeps = carriers.flatMap(([reminder, carrier]) => ('sweep' in carrier ? [{ reminder, ...carrier }] : []));

/** One round of the reconciler over `look`, which answers what each of its ports finds; answers what it did. */
async function reconcile(look: (port: string) => unknown[]) {
  const [brought, failed]: [string[], Map<string, string>] = [[], new Map()];
  const port = (name: string) => async () => look(name);
  const log = quietLog();
  await using reconciler = startReconciler({
    posts: {
      sweeps: {
        ...Object.fromEntries(['takeOver', 'overdue', 'unasked', 'pending'].map((name) => [name, port(name)])),
        enter: async () => look('enter').length,
      } as unknown as ReconcilerOptions['posts']['sweeps'],
    },
    signs: async () => new Set(['takeOver', 'wakeOverdue', 'enter', 'askAgain', 'deliver', 'goOn', 'follow'] as const),
    followUps: { overdueFollowUps: port('overdueFollowUps') } as ReconcilerOptions['followUps'],
    webhooks: { overdue: port('webhooks') } as ReconcilerOptions['webhooks'],
    actors: (({ type }: ActorContract) =>
      new Proxy({}, { get: (_, name) => async () => void brought.push(`${type}.${String(name)}()`) })) as Actors,
    remind: async (set: readonly Reminder[]) => void brought.push(...set.map(({ type, name }) => `${type}.${name}`)),
    lease: { held: async () => true, release: async () => {} },
    clock: systemClock,
    heartbeat: { heartbeatAgeMs: () => 0, steadySince: () => 0 },
    log,
    intervalMs: 3_600_000,
  });
  await reconciler.sweep();
  for (const { detail } of log.lines) {
    const { scan, err } = detail as { scan?: string; err?: Error };
    if (scan !== undefined) failed.set(scan, err!.message);
  }
  return { brought, failed };
}

test('every reminder of every contract has one that does its work where it is lost', () => {
  expect(contracts.map(({ type }) => type).toSorted()).toEqual(actorTypes.toSorted());
  expect(carriers.map(([reminder]) => reminder).toSorted()).toEqual(reminders.toSorted());
  expect([...scans, ...sweeps]).toHaveLength(reminders.length);
});

test.each(scans)('the scan $scan of the reconciler carries $reminder', async ({ scan, finds, brings }) => {
  const { failed } = await reconcile((port) => {
    throw new Error(port);
  });
  const port = failed.get(scan);
  expect([...failed.keys()]).toContain(scan);
  const { brought } = await reconcile((asked) => (asked === port ? [finds] : []));
  expect(brought).toEqual([brings]);
});

test.each(sweeps)('the sweep $sweep carries $reminder', async ({ sweep }) => {
  const { config } = readConfig({ JWT_SECRET });
  await using billing = await openBillingWing({ config } as BillingNeeds); // without payments it asks for nothing more
  expect(billing.sweeps.map(({ name }) => name)).toContain(sweep);
});
