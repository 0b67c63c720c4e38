import { type AuditActor, writeAudit } from '../../platform/audit/index.ts';
import { completeKey, type Sql } from '../../platform/db/index.ts';
import { AppError, isId, newId, randomHex } from '../../platform/kernel/index.ts';
import { checkWebhook } from './check.ts';
import { unknownWebhook, type WebhooksDeps } from './deps.ts';
import type { NewWebhook, WebhookBody, WebhookChange, WebhookUpdate } from './input.ts';
import { getWebhook } from './reading.ts';
import { ROTATION_HOURS } from './rules.ts';
import { deleteWebhook, findWebhook, insertWebhook, updateWebhook, type WebhookRow } from './store.ts';

/**
 * Judges what a client sent and makes what the Organization stores, the row as it will be, and the secret to be shown
 * once.
 */
export async function prepareWebhook(
  deps: Pick<WebhooksDeps, 'sql' | 'outbound' | 'clock' | 'vault'>,
  orgId: string,
  body: WebhookBody,
): Promise<{ webhook: NewWebhook; row: WebhookRow; secret: string | undefined }> {
  await checkWebhook(deps, orgId, body);
  const secret = body.secret ? newSecret() : undefined;
  const now = deps.clock.now();
  const webhook: NewWebhook = {
    id: newId(),
    name: body.name,
    url: body.url,
    channelIds: channelsOf(body),
    events: [...new Set(body.events)],
    createdAt: now,
    ...(secret && { secret: deps.vault.seal(secret) }),
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
}

/** Judges what a client sent as a change of a webhook; a new secret is to be shown once. */
export async function prepareWebhookChange(
  deps: Pick<WebhooksDeps, 'sql' | 'outbound' | 'vault'>,
  orgId: string,
  id: string,
  body: WebhookUpdate,
): Promise<{ change: WebhookChange; secret: string | undefined }> {
  const row = await getWebhook(deps, orgId, id);
  await checkWebhook(deps, orgId, body, row.channelIds);
  const secret = body.rotateSecret || (body.secret && !row.hasSecret) ? newSecret() : undefined;
  const change = {
    id,
    name: body.name,
    url: body.url,
    channelIds: channelsOf(body),
    ...(body.events && { events: [...new Set(body.events)] }),
    ...(secret && { secret: deps.vault.seal(secret) }),
  };
  return { change, secret };
}

/** Stores a webhook while the plan has room for it; else `limit_exceeded`. For the turn of the Organization. */
export const addWebhook = (
  { sql, billing }: Pick<WebhooksDeps, 'sql' | 'billing'>,
  orgId: string,
  webhook: NewWebhook,
): Promise<{ webhookId: string }> =>
  sql.begin(async (tx) => {
    await billing.lockOrg(tx, orgId);
    const repeated = await findWebhook(tx, orgId, webhook.id);
    if (!repeated) await billing.admit(tx, orgId, 'webhooks');
    const inserted = await insertWebhook(tx, orgId, webhook);
    if (inserted) await note(tx, orgId, webhook.by, 'created', webhook.id, named(webhook));
    const key = webhook.idempotency;
    if (inserted && key && !(await completeKey(tx, { orgId, ...key }, key.status, key.reply)))
      throw new AppError('conflict', 'Another request with this Idempotency-Key took over');
    return { webhookId: webhook.id };
  });

/** Changes a webhook once, however often it is called. For the turn of the Organization. */
export async function changeWebhook(
  { sql }: Pick<WebhooksDeps, 'sql'>,
  orgId: string,
  { by, ...change }: WebhookChange,
): Promise<{ webhookId: string }> {
  const { id, secret } = change;
  await sql.begin(async (tx) => {
    if (await updateWebhook(tx, orgId, change, ROTATION_HOURS))
      await note(tx, orgId, by, 'updated', id, { ...named(change), secretRotated: secret !== undefined });
    else if (!(await findWebhook(tx, orgId, id))) throw unknownWebhook();
  });
  return { webhookId: id };
}

export const removeWebhook = (
  { sql }: Pick<WebhooksDeps, 'sql'>,
  orgId: string,
  id: string,
  by?: AuditActor,
): Promise<void> =>
  sql.begin(async (tx) => {
    if (!isId(id) || !(await deleteWebhook(tx, orgId, id))) throw unknownWebhook();
    await note(tx, orgId, by, 'deleted', id);
  });

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
const channelsOf = ({ integrations }: WebhookBody): string[] => [...new Set(integrations.map(({ id }) => id))];
