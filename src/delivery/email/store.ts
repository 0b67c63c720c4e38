import { type Fragment, retentionRule, oldRows, type Sql } from '../../platform/db/index.ts';

/** S173, and no other. `queued` is left by an attempt, the rest comes from the provider. */
export const EMAIL_STATUSES = ['queued', 'sent', 'delivered', 'bounced', 'complained', 'opened', 'clicked'] as const;
export type EmailStatus = (typeof EMAIL_STATUSES)[number];

export interface NewEmail {
  id: string;
  orgId: string | null;
  to: string;
  template: string;
  /** Sealed. */
  content: string;
}
/** A mail that is to be sent now; `attempts` counts this attempt too, and names it. */
export interface ClaimedMail {
  id: string;
  to: string;
  template: string;
  content: string;
  attempts: number;
  /** The organization, or what stands for those that are of several or of none. */
  owner: string;
}
export interface EmailRow {
  id: string;
  orgId: string | null;
  to: string;
  template: string;
  status: EmailStatus;
  providerId: string;
  providerVersion: string;
  providerMessageId: string | null;
  attempts: number;
  nextAttemptAt: Date | null;
  lastError: string | null;
  createdAt: Date;
  sentAt: Date | null;
}

export const insertEmails = (
  sql: Sql,
  mails: readonly NewEmail[],
  { providerId, providerVersion }: { providerId: string; providerVersion: string },
) => sql`
  insert into emails (id, org_id, to_address, template, content, provider_id, provider_version)
  select *, ${providerId}::text, ${providerVersion}::text
  from unnest(${mails.map(({ id }) => id)}::uuid[], ${mails.map(({ orgId }) => orgId)}::uuid[],
    ${mails.map(({ to }) => to)}::text[], ${mails.map(({ template }) => template)}::text[],
    ${mails.map(({ content }) => content)}::text[])`;

/**
 * A condition of a mail `e`: its owner complained, or it came back because of the address and none that was sent later
 * has arrived. One that was refused while it was sent, and so never left, is outweighed by one that has left.
 */
const isSilencing = (sql: Sql) => sql`(
        (e.status = 'complained' or (e.status = 'bounced' and e.address_bad))
        and not exists (
          select
          from emails later
          where e.status = 'bounced'
            and lower(later.to_address) = lower(e.to_address)
            and (later.status in ('delivered', 'opened', 'clicked') or (later.status = 'sent' and e.sent_at is null))
            and later.sent_at > coalesce(e.sent_at, e.created_at)
        )
      )`;

/** A condition: this address takes no mail. */
export const isUndeliverable = (sql: Sql, address: Fragment) => sql`exists (
    select
    from emails e
    where lower(e.to_address) = lower(${address})
      and ${isSilencing(sql)}
  )`;

const dueMail = (sql: Sql, condition: Fragment, limit: number) => sql`
    select id, next_attempt_at
    from emails
    where status = 'queued' and next_attempt_at <= now() and ${condition}
    order by next_attempt_at
    limit ${limit}
    for update
    skip locked`;

/** As in the index `emails_notices_of`: digests of several organizations are as those of one. */
const ownerOf = (sql: Sql) => sql`coalesce(org_id, '00000000-0000-0000-0000-000000000000')`;

/** The first organization with notices that are due, of those that a condition leaves: one step along the index. */
const firstOwner = (sql: Sql, condition: Fragment) => sql`(
      select ${ownerOf(sql)}
      from emails
      where status = 'queued' and next_attempt_at <= now() and template = 'notification' and ${condition}
      order by ${ownerOf(sql)}
      limit 1
    )`;
/** The one behind another in the order of ids; behind the last one comes the first. */
const nextOwner = (sql: Sql, after: Fragment) => sql`
    select coalesce(${firstOwner(sql, sql`${ownerOf(sql)} > ${after}`)}, ${firstOwner(sql, sql`true`)})`;

/**
 * Takes what is due, each for one attempt, notices after what somebody waits for: a broadcast of one organization holds
 * up no reset of a password. Of notices one of each organization from the one behind `after` on, then a second of each:
 * it holds up none of another either. When nothing is heard of one for `leaseSeconds`, whoever asks may take it again.
 */
export const claimDueMail = (
  sql: Sql,
  { limit, leaseSeconds, after }: { limit: number; leaseSeconds: number; after: string },
) => sql<ClaimedMail[]>`
  /* all orgs */
  with recursive waited_for as materialized (${dueMail(sql, sql`template <> 'notification'`, limit)}
  ), room as (
    select ${limit}::int - count(*) as places
    from waited_for
  ), owners (owner) as (${nextOwner(sql, sql`${after}::uuid`)}
    union -- ends where it comes around, and before, where no more are asked for
    ${nextOwner(sql, sql`o.owner`)}
    from owners o
  ), notices as materialized (
    select n.id
    from (select owner from owners limit (select places from room)) o
    cross join lateral (
      select id, row_number() over (order by next_attempt_at) as round
      from (${dueMail(sql, sql`template = 'notification' and ${ownerOf(sql)} = o.owner`, limit)}
      ) due
    ) n
    order by n.round
    limit (select places from room)
  )
  update emails e
  set attempts = e.attempts + 1, next_attempt_at = now() + ${leaseSeconds}::float8 * interval '1 s'
  where e.id = any(array(select id from waited_for union all select id from notices))
  returning e.id, e.to_address as "to", e.template, e.content, e.attempts, ${ownerOf(sql)} as owner`;

type Attempt = Pick<ClaimedMail, 'id' | 'attempts'>;
const isCurrent = (sql: Sql, { id, attempts }: Attempt) =>
  sql`id = ${id} and attempts = ${attempts} and status = 'queued'`;

export interface Sent {
  messageId: string;
  providerId: string;
  providerVersion: string;
}
/** The provider took it, whichever attempt that was: what it said is not kept any longer. */
export const markMailSent = (sql: Sql, id: string, { messageId, providerId, providerVersion }: Sent) => sql`
  update emails
  set status = 'sent', sent_at = now(), provider_id = ${providerId}, provider_version = ${providerVersion},
    provider_message_id = ${messageId},
    content = null, next_attempt_at = null, last_error = null
  where id = ${id} and status = 'queued'`;

/** It came back for ever. */
export const markBounced = (
  sql: Sql,
  attempt: Attempt,
  { reason, isAddressBad }: { reason: string; isAddressBad: boolean },
) => sql`
  update emails
  set status = 'bounced', content = null, next_attempt_at = null, last_error = ${reason}, address_bad = ${isAddressBad}
  where ${isCurrent(sql, attempt)}`;

export const retryLater = (sql: Sql, attempt: Attempt, { inMs, reason }: { inMs: number; reason: string }) => sql`
  update emails
  set next_attempt_at = now() + ${inMs}::float8 * interval '1 ms', last_error = ${reason}
  where ${isCurrent(sql, attempt)}`;

/** The log of the whole instance, newest first. */
export const listEmails = (
  sql: Sql,
  { status, before, limit }: { status?: EmailStatus | undefined; before?: string | undefined; limit: number },
) => sql<EmailRow[]>`
  /* all orgs */
  select id, org_id as "orgId", to_address as "to", template, status, provider_id as "providerId",
    provider_version as "providerVersion",
    provider_message_id as "providerMessageId", attempts, next_attempt_at as "nextAttemptAt", last_error as "lastError",
    created_at as "createdAt", sent_at as "sentAt"
  from emails
  where true ${status ? sql`and status = ${status}` : sql``} ${before ? sql`and id < ${before}` : sql``}
  order by id desc
  limit ${limit}`;

/** Mails to each address until its owner left: afterwards it may be somebody else's. */
export const dropMailsOf = (sql: Sql, people: readonly { email: string; deletedAt: Date }[]) => sql`
  /* all orgs */
  delete from emails e
  using unnest(${people.map(({ email }) => email.toLowerCase())}::text[],
    ${people.map(({ deletedAt }) => deletedAt.toISOString())}::timestamptz[])
    as p (address, until)
  where lower(e.to_address) = p.address and e.created_at <= p.until`;

/** A condition of a mail `t`: it tells nothing of the address of a user that must be known as long as they have it. */
const isForgettable = (sql: Sql) => sql`not exists (
        select
        from emails e
        join users u on lower(u.email) = lower(e.to_address) and u.deleted_at is null
        where e.id = t.id
          and ${isSilencing(sql)}
      )`;

export const oldEmails = oldRows('emails', 'created_at', isForgettable);
export const emailsRetention = retentionRule(
  'EMAIL_LOG_RETENTION_DAYS', // RT5
  ['emails'],
  oldEmails.due,
);
