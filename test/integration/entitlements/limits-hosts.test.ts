import { expect, test } from '@jest/globals';
import sharp from 'sharp';
import { newId, systemClock } from '../../../src/platform/kernel/index.ts';
import { type Answer, type Client, signUp } from '../../support/worlds/app.ts';
import { override, subscribe, WITH_BILLING } from '../../support/worlds/billing.ts';
import { testDatabase, type TestDatabase } from '../../support/wire/database.ts';
import { startEmbedded } from '../../support/processes/service.ts';

// What is admitted row by row, as clients see it while the process that admits dies: judged by the answers, and by a
// recount of the rows at every look.

const REQUESTS = 2_000;
const PLACES = 60;
const CALLERS = 40;
const TEST_MS = 300_000;
const GB = 1024 ** 3;

interface Kind {
  limit: string;
  ask(n: number): Promise<Answer>;
  /** Asking again for the same one is no second one. */
  repeats: boolean;
  granted: number;
  refused: number;
  /** Asks that ended without an answer: each may have been granted. */
  lost: number;
}

/** Asks until it is told what became of it. */
async function askFor(kind: Kind, max: number, n: number, over: AbortSignal): Promise<void> {
  while (!over.aborted) {
    const answer = await kind.ask(n).catch(() => undefined);
    if (answer && answer.status < 300) return void (kind.granted += 1);
    if (answer?.status === 402 && answer.body.limit === kind.limit && answer.body.max === max)
      return void (kind.refused += 1);
    if (answer && answer.status < 500 && answer.status !== 409)
      throw new Error(`${kind.limit}: ${answer.status} ${answer.text}`);
    kind.lost += 1;
    await systemClock.sleep(200);
  }
}

/** A member for each request, none of them with a seat. */
async function waitingMembers({ sql }: TestDatabase, orgId: string, many: number): Promise<string[]> {
  const ids = Array.from({ length: many }, newId);
  await sql`
    insert into users ${sql(ids.map((id) => ({ id, email: `${id}@example.com`, provider_name: 'local', provider_id: id, activated: true })))}`;
  await sql`insert into user_profiles ${sql(ids.map((id) => ({ user_id: id, name: 'Member' })))}`;
  await sql`
    insert into memberships ${sql(ids.map((id) => ({ org_id: orgId, user_id: id, role_key: 'editor', disabled: true })))}`;
  return ids;
}

function upload(client: Client, bytes: Uint8Array): Promise<Answer> {
  const form = new FormData();
  form.append('file', new Blob([bytes as Uint8Array<ArrayBuffer>]), 'a.png');
  return client.post('/files/upload-server', form);
}

/** The rows that count, one by one, and the counter that is kept beside them. */
async function look({ sql }: TestDatabase, orgId: string) {
  const [row] = await sql<
    { channel: number; webhooks: number; team_members: number; bytes: number; counter: number }[]
  >`
    select (select count(*)::int
    from channels
    where org_id = ${orgId} and deleted_at is null and not disabled and not refresh_needed) as channel,
      (select count(*)::int from webhooks where org_id = ${orgId} and deleted_at is null) as webhooks,
      (select count(*)::int from memberships where org_id = ${orgId} and not disabled) as team_members,
      (select coalesce(sum(bytes), 0)::float8 from files where org_id = ${orgId} and deleted_at is null) as bytes,
      coalesce((select storage_bytes::float8 from org_counters where org_id = ${orgId}), 0) as counter`;
  return row!;
}

test(
  '2,000 requests for channels, webhooks, seats and bytes are granted exactly up to each limit although a process is killed meanwhile [LM11, LM12, LM14, LM16, LM19, LM20]',
  async () => {
    await using database = await testDatabase();
    await using service = await startEmbedded({ database, env: WITH_BILLING });
    const { client, orgId } = await signUp(service.url, {});
    await subscribe(database.sql, orgId, { tier: 'AGENCY' });
    await override(database.sql, orgId, { channel: PLACES, webhooks: PLACES, team_members: PLACES, storage_gb: 1 });
    const members = await waitingMembers(database, orgId, REQUESTS / 4);
    const picture = await sharp({ create: { width: 24, height: 24, channels: 3, background: '#345' } })
      .png({ compressionLevel: 0 })
      .toBuffer();
    const room = PLACES * picture.length + 10;
    const big = {
      id: newId(),
      org_id: orgId,
      name: 'big',
      original_name: 'big',
      storage_key: newId(),
      kind: 'video',
      mime: 'video/mp4',
      bytes: GB - room,
    };
    await database.sql`insert into files ${database.sql(big)}`;

    const kind = (limit: string, repeats: boolean, ask: Kind['ask']): Kind => ({
      limit,
      repeats,
      ask,
      granted: 0,
      refused: 0,
      lost: 0,
    });
    const kinds = [
      kind('channel', true, (n) =>
        client.post('/integrations/social-connect/sandbox', { fields: { name: `account ${n}` }, allowPreview: true }),
      ),
      kind('webhooks', false, () =>
        client.post('/webhooks', { name: 'a', url: 'http://127.0.0.1:9/', integrations: [] }),
      ),
      kind('team_members', true, (n) => client.put(`/members/${members[n]!}`, { role: 'editor', disabled: false })),
      kind('storage_gb', false, () => upload(client, picture)),
    ];
    const over = new AbortController();
    await using _ = { [Symbol.asyncDispose]: async () => over.abort() };
    let next = 0;
    const callers = Array.from({ length: CALLERS }, async () => {
      for (let n = next++; n < REQUESTS; n = next++)
        await askFor(
          kinds[n % kinds.length]!,
          n % kinds.length === 3 ? 1 : PLACES,
          Math.floor(n / kinds.length),
          over.signal,
        );
    });
    const done = Promise.all(callers).then(() => true);
    let killed = false;
    let looks = 0;
    while (!(await Promise.race([done, systemClock.sleep(50).then(() => false)]))) {
      const seen = await look(database, orgId);
      looks += 1;
      expect(seen.counter).toBe(seen.bytes);
      expect(seen.bytes).toBeLessThanOrEqual(GB);
      expect(Math.max(seen.channel, seen.webhooks, seen.team_members)).toBeLessThanOrEqual(PLACES);
      if (killed || Math.min(seen.channel, seen.webhooks, seen.team_members) < PLACES / 3) continue;
      killed = true;
      await service.kill(0);
      await service.restart(0);
    }
    expect(killed).toBe(true);
    expect(looks).toBeGreaterThan(5);
    const bytes = GB - room + PLACES * picture.length;
    expect(await look(database, orgId)).toEqual({
      channel: PLACES,
      webhooks: PLACES,
      team_members: PLACES,
      bytes,
      counter: bytes,
    });
    for (const { limit, repeats, granted, refused, lost } of kinds) {
      const own = limit === 'team_members' ? 1 : 0; // the owner has a seat
      expect({ limit, asked: granted + refused }).toEqual({ limit, asked: REQUESTS / 4 });
      expect(granted).toBeLessThanOrEqual(PLACES - own);
      expect(granted + (repeats ? 0 : lost)).toBeGreaterThanOrEqual(PLACES - own);
    }
  },
  TEST_MS,
);
