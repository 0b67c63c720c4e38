import { createHash } from 'node:crypto';
import { idFrom } from '../../../src/platform/kernel/index.ts';
import type { Database } from '../../../src/platform/db/index.ts';
import { sealedLogin } from '../../support/worlds/publishing/world.ts';
import type { Cast, Person } from './cast.ts';

/** Stores the cast of a year; `subscribe` answers what the browser of somebody hands out. */
export async function seed(sql: Database, { orgs, people, channels }: Cast, subscribe: (person: Person) => string) {
  for (const { id, name, zone } of orgs)
    await sql`insert into organizations (id, name, timezone) values (${id}, ${name}, ${zone})`;
  for (const person of people) {
    const { id, email, zone, wishes, roles, hasDevice } = person;
    await sql`
      insert into users (id, email, provider_name, provider_id, activated)
      values (${id}, ${email}, 'local', ${id}, true)`;
    await sql`
      insert into user_profiles (user_id, name, timezone, notification_preferences)
      values (${id}, 'Somebody', ${zone}, ${JSON.stringify(wishes)}::text::jsonb)`;
    for (const { org, role } of roles)
      await sql`insert into memberships (org_id, user_id, role_key) values (${org.id}, ${id}, ${role})`;
    if (!hasDevice) continue;
    const token = subscribe(person);
    const hash = createHash('sha256').update(token).digest();
    const sessionId = idFrom(`session ${id}`);
    await sql`
      insert into sessions (id, user_id, token_hash, expires_at)
      values (${sessionId}, ${id}, ${hash}, now() + interval '3 years')`;
    await sql`
      insert into push_tokens (id, user_id, session_id, token, token_hash, via, platform)
      values (${idFrom(`device ${id}`)}, ${id}, ${sessionId}, ${token}, ${hash}, 'web-push', 'web')`;
  }
  for (const { id, org, network, name } of channels)
    await sql`
      insert into channels (id, org_id, provider_id, provider_version, internal_id, name, credentials)
      values (${id}, ${org.id}, ${network}, 'v1', ${id}, ${name}, ${sealedLogin(id)})`;
}
