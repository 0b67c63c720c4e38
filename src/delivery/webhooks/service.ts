import { type AuditActor, writeAudit } from '../../platform/audit/index.ts';
import type { Billing } from '../../entitlements/index.ts';
import { type Database, completeKey, type Sql } from '../../platform/db/index.ts';
import {
  AppError,
  type Clock,
  type FieldError,
  invalidField,
  isId,
  newId,
  notAvailable,
  notFound,
  randomHex,
  validationFailed,
  type Vault,
} from '../../platform/kernel/index.ts';
import { type Outbound, OutboundError } from '../../platform/outbound/index.ts';
import type { ListenerLog } from '../../platform/outbox/index.ts';
import { type Dispatcher, openDispatcher, type WebhookEvents } from './dispatcher.ts';
import { isEvent, isUnheard } from './events.ts';
import type { NewWebhook, WebhookBody, WebhookChange, WebhookUpdate } from './input.ts';
import { dropOldDeliveries, workOfWebhooks } from './retention.ts';
import { mayBePlain, pingBody, type PingResult, pingResult, ROTATION_HOURS, TEST_PING } from './rules.ts';
import { openSend } from './send.ts';
import * as store from './store.ts';

/** Webhooks of organizations: who is told what, the deliveries and what became of them. */
export interface Webhooks extends Dispatcher {
  list(orgId: string): Promise<readonly store.WebhookRow[]>;
  get(orgId: string, id: string): Promise<store.WebhookRow>;
  /**
   * Judges what a client sent and makes what the Organization stores, the row as it will be, and the secret to be shown
   * once.
   */
  prepare(
    orgId: string,
    body: WebhookBody,
  ): Promise<{ webhook: NewWebhook; row: store.WebhookRow; secret: string | undefined }>;
  prepareChange(
    orgId: string,
    id: string,
    body: WebhookUpdate,
  ): Promise<{ change: WebhookChange; secret: string | undefined }>;
  /** Stores a webhook while the plan has room for it; else `limit_exceeded`. For the turn of the Organization. */
  add(orgId: string, webhook: NewWebhook): Promise<{ webhookId: string }>;
  change(orgId: string, change: WebhookChange): Promise<{ webhookId: string }>;
  remove(orgId: string, id: string, by?: AuditActor): Promise<void>;
  testPing(orgId: string, id: string): Promise<PingResult>;
  /** One signed ping to a URL that is kept nowhere (S169). */
  send(url: string, message: string | undefined): Promise<PingResult>;
  attempts(
    orgId: string,
    id: string,
    page: { limit: number; cursor: string | undefined },
  ): Promise<{ items: readonly store.WebhookAttemptRow[]; nextCursor: string | null }>;
  /** At most 100 events after number `after`; `last`: the number of the last one there is. */
  events(orgId: string, id: string, after: number): Promise<{ items: readonly store.WebhookEventRow[]; last: number }>;
  /** One more attempt of a delivery that is over, with the same id and bytes. */
  redeliver(orgId: string, id: string, deliveryId: string): Promise<PingResult>;
  /** Actors to be woken by the reconciler. */
  overdue(limit: number): Promise<string[]>;
  /** Forgets what was over 30 days ago, at most `limit` attempts and deliveries of each; answers how many. */
  dropOld(limit: number): Promise<number>;
  /** What waits, what should have been sent, and what each host sends. */
  work(): ReturnType<typeof workOfWebhooks>;
}

export interface WebhooksOptions {
  sql: Database;
  clock: Clock;
  vault: Vault;
  outbound: Outbound;
  billing: Pick<Billing, 'lockOrg' | 'admit'>;
  /** Of this start of this process. */
  incarnation: string;
  /** Of the deployment, for `X-Service-Signature`. */
  signingKey: string;
  /** `WEBHOOK_TIMEOUT_MS`. */
  timeoutMs: number;
  log: ListenerLog;
  /** Told of each attempt. */
  events?: WebhookEvents | undefined;
}

const EVENTS_PER_PAGE = 100;
const KEPT_MS = 30 * 86_400_000;
const unknown = () => notFound('Webhook not found');
async function note(
  tx: Sql,
  orgId: string,
  by: AuditActor | undefined,
  done: string,
  id: string,
  detail = {},
): Promise<void> {
  if (by) await writeAudit(tx, by, { orgId, action: `webhook.${done}`, resource: 'webhooks', resourceId: id, detail });
}
/** For the audit log: the rest of an address may be a key of its receiver. */
const named = ({ name, url }: { name?: string | undefined; url?: string | undefined }) => ({
  ...(name !== undefined && { name }),
  ...(url !== undefined && { host: new URL(url).host }),
});
const newSecret = () => `whsec_${Buffer.from(randomHex(32), 'hex').toString('base64')}`;

export function openWebhooks({
  sql,
  clock,
  vault,
  outbound,
  billing,
  incarnation,
  signingKey,
  timeoutMs,
  log,
  events,
}: WebhooksOptions): Webhooks {
  const send = openSend({ outbound, clock, vault, signingKey, timeoutMs });
  const dispatcher = openDispatcher({ sql, clock, send, log, incarnation, timeoutMs, events });

  /**
   * Every fault of the URL, the events and the integrations at once; `kept` are integrations that were accepted before.
   */
  async function judge(
    orgId: string,
    { url, integrations, events: wanted = [] }: WebhookBody,
    kept: readonly string[] = [],
  ): Promise<void> {
    const ids = [...new Set(integrations.map(({ id }) => id))].filter(isId);
    const known = new Set([...(ids.length > 0 ? await store.knownChannels(sql, orgId, ids) : []), ...kept]);
    const faults: FieldError[] = [
      ...integrations.flatMap(({ id }, n) =>
        known.has(id)
          ? []
          : [
              {
                field: `integrations.${n}.id`,
                message: `integrations.${n}.id: no such integration`,
                rule: 'unknown_id',
              },
            ],
      ),
      ...wanted.flatMap((event, n) => {
        const field = `events.${n}`;
        if (isUnheard(event)) return [notAvailable(field)];
        return isEvent(event) ? [] : [{ field, message: `${field}: no such event`, rule: 'invalid_value' }];
      }),
    ];
    if (faults.length > 0) throw validationFailed(faults);
    judgeUrl(url);
  }

  function judgeUrl(url: string): void {
    try {
      const judged = outbound.judge(url);
      if (judged.protocol === 'http:' && !mayBePlain(judged)) throw new OutboundError('blocked', 'Blocked URL');
    } catch (error) {
      throw error instanceof OutboundError ? error.ofField('url') : error;
    }
  }

  return {
    ...dispatcher,
    list: (orgId) => store.listWebhooks(sql, orgId),

    async get(orgId, id) {
      const row = isId(id) ? await store.findWebhook(sql, orgId, id) : undefined;
      if (!row) throw unknown();
      return row;
    },

    async prepare(orgId, body) {
      await judge(orgId, body);
      const secret = body.secret ? newSecret() : undefined;
      const now = clock.now();
      const webhook: NewWebhook = {
        id: newId(),
        name: body.name,
        url: body.url,
        channelIds: unique(body),
        events: [...new Set(body.events)],
        createdAt: now,
        ...(secret && { secret: vault.seal(secret) }),
      };
      const row = {
        ...webhook,
        hasSecret: secret !== undefined,
        updatedAt: now,
        total: 0,
        succeeded: 0,
        failed: 0,
        lastStatus: null,
        lastError: null,
        lastDeliveredAt: null,
        consecutiveFailures: 0,
      };
      return { webhook, row, secret };
    },

    async prepareChange(orgId, id, body) {
      const row = isId(id) ? await store.findWebhook(sql, orgId, id) : undefined;
      if (!row) throw unknown();
      await judge(orgId, body, row.channelIds);
      const secret = body.rotateSecret || (body.secret && !row.hasSecret) ? newSecret() : undefined;
      const change = {
        id,
        name: body.name,
        url: body.url,
        channelIds: unique(body),
        ...(body.events && { events: [...new Set(body.events)] }),
        ...(secret && { secret: vault.seal(secret) }),
      };
      return { change, secret };
    },

    add: (orgId, webhook) =>
      sql.begin(async (transaction) => {
        await billing.lockOrg(transaction, orgId);
        const repeated = await store.findWebhook(transaction, orgId, webhook.id);
        if (!repeated) await billing.admit(transaction, orgId, 'webhooks');
        const inserted = await store.insertWebhook(transaction, orgId, webhook);
        if (inserted) await note(transaction, orgId, webhook.by, 'created', webhook.id, named(webhook));
        const key = webhook.idempotency;
        if (inserted && key && !(await completeKey(transaction, { orgId, ...key }, key.status, key.reply)))
          throw new AppError('conflict', 'Another request with this Idempotency-Key took over');
        return { webhookId: webhook.id };
      }),

    async change(orgId, { by, ...change }) {
      const { id, secret } = change;
      await sql.begin(async (tx) => {
        if (await store.updateWebhook(tx, orgId, change))
          await note(tx, orgId, by, 'updated', id, { ...named(change), secretRotated: secret !== undefined });
        else if (!(await store.findWebhook(tx, orgId, id))) throw unknown();
      });
      return { webhookId: id };
    },

    remove: (orgId, id, by) =>
      sql.begin(async (tx) => {
        if (!isId(id) || !(await store.deleteWebhook(tx, orgId, id))) throw unknown();
        await note(tx, orgId, by, 'deleted', id);
      }),

    async testPing(orgId, id) {
      const target = isId(id) ? await store.findTarget(sql, orgId, id, ROTATION_HOURS) : undefined;
      if (!target) throw unknown();
      const deliveryId = newId();
      const body = pingBody(clock.now(), TEST_PING);
      const outcome = await send({ ...target, id: deliveryId, body });
      await store.recordPing(sql, orgId, id, { deliveryId, attemptId: newId(), body, outcome });
      return pingResult(outcome);
    },

    async send(url, message = TEST_PING) {
      return pingResult(await send({ url, id: newId(), body: pingBody(clock.now(), message) }));
    },

    async attempts(orgId, id, { limit, cursor }) {
      if (!isId(id) || !(await store.findWebhook(sql, orgId, id))) throw unknown();
      if (cursor !== undefined && !isId(cursor))
        throw invalidField('cursor', 'cursor: take it from the page before', 'invalid_format');
      const rows = await store.listAttempts(sql, orgId, id, { limit: limit + 1, before: cursor });
      return { items: rows.slice(0, limit), nextCursor: rows.length > limit ? rows[limit - 1]!.attemptId : null };
    },

    async events(orgId, id, after) {
      const last = isId(id) ? await store.lastSeq(sql, orgId, id) : undefined;
      if (last === undefined) throw unknown();
      return { items: await store.listEvents(sql, orgId, id, { after, limit: EVENTS_PER_PAGE }), last };
    },

    async redeliver(orgId, id, deliveryId) {
      const target = isId(id) && isId(deliveryId) ? await store.findTarget(sql, orgId, id, ROTATION_HOURS) : undefined;
      const delivery = target && (await store.findDelivery(sql, orgId, id, deliveryId));
      if (!delivery) throw notFound('Delivery not found');
      if (delivery.state === 'pending') throw new AppError('conflict', 'This delivery is still under way');
      const outcome = await send({
        ...target,
        id: deliveryId,
        body: delivery.body,
        seq: target.optIn && delivery.seq !== null ? delivery.seq : undefined,
      });
      await store.recordRedelivery(sql, orgId, id, { deliveryId, attemptId: newId(), outcome });
      return pingResult(outcome);
    },

    overdue: (limit) => store.overdueWebhooks(sql, limit),
    dropOld: (limit) => dropOldDeliveries(sql, clock.in(-KEPT_MS), limit),
    work: () => workOfWebhooks(sql),
  };
}

const unique = ({ integrations }: WebhookBody): string[] => [...new Set(integrations.map(({ id }) => id))];
