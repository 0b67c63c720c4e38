import type { AuditActor } from '../../platform/audit/index.ts';
import type { Sql } from '../../platform/db/index.ts';
import { AppError } from '../../platform/kernel/index.ts';
import { type SubscriptionChange, isAway } from '../processor/index.ts';
import { PROCESSOR } from '../subscriptions/index.ts';
import { isOver, planMetadata, readSubscription } from '../subscriptions/index.ts';
import { subscriptionStore as store } from '../subscriptions/index.ts';
import { addTask, endTask, failTask, takeTasks, type TaskRow } from '../processor/index.ts';
import { performRefund, type RefundNeeds, type Refusals } from './refund.ts';

export interface Tasks extends AsyncDisposable {
  /** Begins what waits for an org, beside the caller. */
  begin(orgId: string): void;
  /**
   * Does what is due for an org before the caller goes on; what fails is taken again later. Answers the refunds that
   * the processor refused for good.
   */
  now(orgId: string): Promise<Refusals>;
  /** Does what is due, at most `limit`; answers how many were taken. What fails is taken again later. */
  run(limit: number, orgId?: string): Promise<number>;
  /**
   * Asks for a change at the processor and writes the answer down, whatever was heard in between. Throws
   * `provider_failed` where the changed subscription cannot be read: the change is made then, and nothing else.
   */
  change(
    orgId: string,
    subscription: string,
    change: SubscriptionChange,
    by: AuditActor,
    within?: (sql: Sql) => Promise<void>,
  ): Promise<void>;
  /**
   * Reads the processor's word on a subscription and writes it down. One that goes on there with metadata that cannot be
   * read changes nothing: it is still paid for, so what the organization has stays.
   */
  sync(orgId: string, subscription: string): Promise<void>;
}

/** Taken together: those behind one that finds the processor away wait for their next turn. */
const AT_ONCE = 20;
/** As many as one call can make necessary, and what waited before. */
const MOST_NOW = 100;
const UNREADABLE =
  'metadata at the payment processor names no plan or add-on, the organization keeps what it has until it is mended';

export function openTasks(needs: RefundNeeds): Tasks {
  const { sql, processor, apply, lockOrg, log } = needs;
  const running = new Set<Promise<unknown>>();

  async function sync(orgId: string, subscription: string): Promise<void> {
    for (;;) {
      const before = await store.findKnown(sql, subscription);
      if (before?.endedAt) return;
      const remote = await processor.subscription(subscription);
      const read = remote && readSubscription(remote);
      if (remote && !read && !isOver(remote)) {
        log.error({ orgId, subscription }, UNREADABLE);
        return;
      }
      const refused =
        read?.inTrial &&
        read.item.kind === 'plan' &&
        (await store.findSubscription(sql, orgId))?.processorId !== subscription &&
        !(await processor.checkCard(remote!));
      const written = await sql.begin(async (tx) => {
        await lockOrg(tx, orgId);
        // more was heard meanwhile: look again
        if ((await store.findKnown(tx, subscription))?.version !== before?.version) return false;
        if (!read) await apply.end(tx, orgId, subscription); // gone at the processor, or over
        else if (refused) await apply.refuseCard(tx, orgId, read);
        else await apply.state(tx, orgId, read);
        return true;
      });
      if (written) return;
    }
  }

  async function makeChange(
    orgId: string,
    subscription: string,
    wanted: SubscriptionChange,
    by: AuditActor,
    within?: (sql: Sql) => Promise<void>,
  ): Promise<void> {
    const before = await store.findKnown(sql, subscription);
    const { subscription: remote, at } = await processor.change(subscription, wanted);
    const read = readSubscription(remote);
    await sql.begin(async (tx) => {
      await lockOrg(tx, orgId);
      const now = await store.findKnown(tx, subscription);
      if (read && now?.version === before?.version) await apply.state(tx, orgId, read, { changedAt: at, by });
      else await addTask(tx, orgId, { kind: 'sync', subscription });
      await within?.(tx);
    });
    if (read) return;
    throw new AppError(
      'provider_failed',
      'The payment processor made the change, but its metadata of the subscription names no plan or add-on: nothing else is changed until the operator has mended it',
    );
  }

  async function perform(task: TaskRow, refusals: Refusals): Promise<void> {
    const { orgId, kind, subscription, data } = task;
    if (kind === 'cancel') return processor.cancel(subscription, data);
    if (kind === 'sync') return sync(orgId, subscription);
    if (kind === 'refund') return performRefund(needs, task, refusals);
    const row = await store.findSubscription(sql, orgId);
    if (row?.processorId !== subscription || row.tier !== data.tier || row.pendingTier) return; // it went on from there
    await makeChange(orgId, subscription, { metadata: planMetadata(row.tier, row.period) }, PROCESSOR);
  }
  /** False: the processor is away. */
  async function attempt(task: TaskRow, refusals: Refusals): Promise<boolean> {
    try {
      await perform(task, refusals);
      await endTask(sql, task.orgId, task.id);
      return true;
    } catch (error) {
      log.warn(
        { orgId: task.orgId, task: task.kind, subscription: task.subscription, attempts: task.attempts, err: error },
        'a call to the payment processor failed, repeated later',
      );
      await failTask(sql, task.orgId, task.id, error instanceof Error ? error.message.slice(0, 500) : 'unknown');
      return !isAway(error);
    }
  }
  async function run(limit: number, orgId?: string, refusals: Refusals = new Map()): Promise<number> {
    for (let done = 0; ;) {
      const tasks = await takeTasks(sql, orgId, Math.min(limit - done, AT_ONCE));
      for (const task of tasks) {
        if (!(await attempt(task, refusals))) return done; // each more would wait as long for nothing
        done += 1;
      }
      if (done >= limit || tasks.length === 0) return done; // one that was done may have left another
    }
  }
  function begin(orgId: string): void {
    const work = run(AT_ONCE, orgId).catch((error: unknown) =>
      log.warn({ orgId, err: error }, 'calls to the payment processor could not be made, repeated by the sweep'),
    );
    running.add(work);
    void work.finally(() => running.delete(work));
  }

  return {
    begin,
    sync,
    async now(orgId) {
      const refusals: Refusals = new Map();
      await run(MOST_NOW, orgId, refusals);
      return refusals;
    },
    async change(orgId, subscription, wanted, by, within) {
      await makeChange(orgId, subscription, wanted, by, within);
      begin(orgId);
    },
    async run(limit, orgId) {
      await Promise.all(running);
      return run(limit, orgId);
    },
    async [Symbol.asyncDispose]() {
      while (running.size > 0) await Promise.all(running);
    },
  };
}
