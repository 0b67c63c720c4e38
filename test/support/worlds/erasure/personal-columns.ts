import { PERSONAL_COLUMNS } from '../../../../src/operations/erasure/columns.ts';
import { type Database, scopeOfUser, SEALED } from '../../../../src/platform/db/index.ts';
import { newId, sha256, type Vault } from '../../../../src/platform/kernel/index.ts';
import { ADDRESS, CAME_FROM, WORD } from './traced-person.ts';

// Rows of one person that hold who they are, in every column that may: beside what the product wrote of them itself.

interface Of {
  userId: string;
  /** An organization of others that they belong to. */
  orgId: string;
}

/** Writes the word of a traced person into each column about people. What a worker would take up is due in an hour. */
export async function plantEverywhere(
  { sql, vault }: { sql: Database; vault: Vault },
  { userId, orgId }: Of,
): Promise<void> {
  const sealed = vault.seal(JSON.stringify({ name: WORD, email: ADDRESS }));
  const device = newId();
  await sql`
    insert into notifications (id, org_id, user_id, source, category, title, content, data)
    values (${newId()}, ${orgId}, ${userId}, 's', 'storage', ${WORD}, ${WORD}, ${sql.json({ name: WORD })})`;
  await sql`
    insert into notification_windows (user_id, kind, due_at)
    values (${userId}, 'digest', now() + interval '1 hour')`;
  await sql`
    insert into notification_lines (user_id, kind, org_id, category, title, content)
    values (${userId}, 'digest', ${orgId}, 'storage', ${WORD}, ${WORD})`;
  await sql`
    insert into push_tokens (id, user_id, session_id, token, token_hash, platform, device_name)
    select ${device}, user_id, id, ${WORD}, ${sha256(WORD)}, 'ios', ${`Phone of ${WORD}`}
    from sessions
    where user_id = ${userId}
    limit 1`;
  await sql`
    insert into pushes (id, token_id, category, title, content, next_attempt_at)
    values (${newId()}, ${device}, 'storage', ${WORD}, ${WORD}, now() + interval '1 hour')`;
  await sql`
    insert into invitations (id, org_id, email, role_key, token_hash, invited_by)
    select ${newId()}, ${orgId}, ${ADDRESS.toUpperCase()}, 'viewer', ${sha256('y')}, id
    from users
    where email = 'boss@example.com'`;
  await sql`
    insert into impersonations (id, admin_id, user_id, session_id, reason, expires_at)
    select ${newId()}, s.user_id, ${userId}, s.id, ${`asked by ${WORD}`}, now()
    from sessions s
    join users u on u.id = s.user_id
    where u.email = 'boss@example.com'
    limit 1`;
  await sql`
    insert into errors (incarnation, room, message, error, detail)
    values ('i', 'email', ${`no mail to ${ADDRESS}`}, ${`Error: no mail to ${ADDRESS}`}, ${sql.json({ to: ADDRESS })})`;
  await sql`
    insert into emails (id, org_id, to_address, template, content, provider_id, provider_version, next_attempt_at, last_error)
    values (${newId()}, ${orgId}, ${ADDRESS}, 'storage', ${sealed}, 'smtp', 'v1', now() + interval '1 hour',
      ${`550 no such user ${ADDRESS}`})`;
  await sql`
    insert into idempotency_keys (org_id, scope, key, body_hash, claim, claimed_until, status, reply)
    values (${orgId}, ${scopeOfUser(userId, 'POST /members')}, 'theirs', ${sha256('x')}, ${newId()}, now(), 201, ${sealed})`;
  await sql`
    insert into login_states (hash, kind, browser_hash, provider_id, sealed, expires_at)
    values (${sha256('l')}, 'consent', ${sha256('b')}, 'google', ${sealed}, now() + interval '10 minutes')`;
  await sql`
    insert into oauth_devices
      (id, device_hash, user_hash, org_id, user_id, decision, interval_seconds, expires_at, ip, user_agent)
    values (${newId()}, ${sha256('d')}, ${sha256('u')}, ${orgId}, ${userId}, 'approved', 5, now() + interval '10 minutes',
      ${CAME_FROM}, ${WORD})`;
  await sql`
    insert into one_time_codes (code_hash, kind, user_id, password_hash, email, expires_at)
    values (${sha256('c')}, 'email', ${userId}, ${WORD}, ${ADDRESS}, now() + interval '1 hour')`;
  await sql`
    insert into registrations (user_id, browser_hash, password_hash, name, company, timezone)
    values (${userId}, ${sha256('r')}, ${WORD}, ${WORD}, ${WORD}, ${WORD})`;
  await sql`
    update user_profiles
    set avatar_url = ${`https://pictures.example/${WORD}.png`}, timezone = ${WORD},
      notification_preferences = ${sql.json({ name: WORD })}
    where user_id = ${userId}`;
  await sql`update users set provider_id = ${WORD}, password_hash = ${WORD} where id = ${userId}`;
  await sql`
    insert into audit_log (org_id, user_id, ip, action, resource, resource_id, detail)
    values (${orgId}, ${userId}, ${CAME_FROM}, 'member.changed', 'members', ${userId}, ${sql.json({ to: [userId] })})`;
}

/** `table.column` of columns about people into which nothing of the person was ever written, by a trail of all rows. */
export async function unplantedColumns(
  { sql, vault }: { sql: Database; vault: Vault },
  { userId }: Pick<Of, 'userId'>,
): Promise<string[]> {
  const missing: string[] = [];
  const isSealed = new Set(SEALED.map(({ table, column }) => `${table}.${column}`));
  for (const [table, column] of PERSONAL_COLUMNS) {
    const rows = await sql<{ value: string }[]>`
      select distinct row ->> ${column} as value
      from canary_trail
      where of = ${table} and row ->> ${column} is not null`;
    const values = rows.map(({ value }) =>
      isSealed.has(`${table}.${column}`) && value.startsWith('v2:') ? vault.open(value) : value,
    );
    const holds = (value: string) => [WORD, CAME_FROM, userId].some((one) => value.toLowerCase().includes(one));
    if (!values.some(holds)) missing.push(`${table}.${column}`);
  }
  return missing;
}
