import type { Database } from '../../../src/platform/db/index.ts';
import { newId } from '../../../src/platform/kernel/index.ts';

/** Settings with which billing is on. */
export const WITH_BILLING = {
  PAYMENTS_PUBLISHABLE_KEY: 'pk_test_1',
  PAYMENTS_SECRET_KEY: 'sk_test_1',
  PAYMENTS_SIGNING_KEY: 'whsec_1',
};

interface Given {
  tier?: 'STARTER' | 'PRO' | 'TEAM' | 'AGENCY';
  createdAt?: Date;
  graceEndsAt?: Date | null;
  /** Columns of packs: `extra_posts: 2`. */
  packs?: Record<string, number>;
}
/** Gives an org a subscription, in the place of the one it has. */
export async function subscribe(
  sql: Database,
  orgId: string,
  { tier = 'STARTER', createdAt = new Date(), graceEndsAt = null, packs = {} }: Given = {},
): Promise<void> {
  const row = {
    id: newId(),
    org_id: orgId,
    tier,
    period: 'MONTHLY',
    identifier: 'test',
    total_channels: 0,
    created_at: createdAt,
    grace_period_end: graceEndsAt,
    ...packs,
  };
  await sql.begin(async (tx) => {
    await tx`delete from subscriptions where org_id = ${orgId}`;
    await tx`insert into subscriptions ${tx(row)}`;
  });
}
/** Sets limits of an org by hand. */
export const override = (sql: Database, orgId: string, overrides: Record<string, number>) =>
  sql`update organizations set limit_overrides = ${JSON.stringify(overrides)}::text::jsonb where id = ${orgId}`;

/** Channels of an org, oldest first, each with a post that is to go out tomorrow. */
export async function queuedChannels(sql: Database, orgId: string, many: number): Promise<string[]> {
  const ids = Array.from({ length: many }, newId);
  for (const [n, id] of ids.entries()) {
    await sql`
      insert into channels (id, org_id, provider_id, provider_version, internal_id, name, credentials, created_at,
        next_due_at)
      values (${id}, ${orgId}, 'sandbox', 'v1', ${`account ${n}`}, ${`channel ${n}`}, '',
        now() + ${n}::float8 * interval '1 second', now() + interval '1 day')`;
    await sql`
      insert into posts (id, org_id, channel_id, group_id, state, detail, content, publish_date, due_at)
      values (${newId()}, ${orgId}, ${id}, ${id}, 'QUEUE', 'scheduled', 'hello', now() + interval '1 day',
        now() + interval '1 day')`;
  }
  return ids;
}
/** Further members of an org, oldest first. */
export async function editors(sql: Database, orgId: string, many: number): Promise<void> {
  for (let n = 0; n < many; n++) {
    const id = newId();
    await sql`
      insert into users (id, email, provider_name, provider_id, activated)
      values (${id}, ${`${id}@example.com`}, 'local', ${id}, true)`;
    await sql`insert into user_profiles (user_id, name) values (${id}, ${`member ${n}`})`;
    await sql`
      insert into memberships (org_id, user_id, role_key, created_at)
      values (${orgId}, ${id}, 'editor', now() + ${n + 1}::float8 * interval '1 second')`;
  }
}
