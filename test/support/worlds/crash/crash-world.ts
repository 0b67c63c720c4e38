import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { newId } from '../../../../src/platform/kernel/index.ts';
import { readMail, startSmtp } from '../../peers/smtp.ts';
import { startInternet } from '../../wire/outside.ts';
import { subscribedBrowser, type SubscribedBrowser, vapidSettings } from '../../wire/push-service.ts';
import { virtualDatabase } from '../../wire/virtual-time.ts';
import { type CrashingHost, openCrashing } from './crashing.ts';
import { openNetwork, sealedLogin } from '../publishing/world.ts';

export const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const START = Date.UTC(2026, 2, 2, 1);
const HOST = 'push.example.com';
const VAPID = vapidSettings();

interface CrashPerson {
  id: string;
  email: string;
}
/** An organization with an owner and a maker, who have a device each. */
export interface Seeded {
  orgId: string;
  people: readonly CrashPerson[];
  channels: readonly string[];
  admin: string;
}

/** What hosts that die share: a database whose time is the test's, and the services outside. */
export async function crashWorld() {
  await using opened = new AsyncDisposableStack();
  let now = START;
  let days = 0;
  const db = opened.use(await virtualDatabase(now));
  const { sql } = db;
  /** Whose requests are counted. */
  let dying: CrashingHost | undefined;
  const mails: { to: string; id: string }[] = [];
  const pushes: { to: string; text: string }[] = [];
  const replies: { orgId: string; id: string }[] = [];
  const orgs = new Map<string, string>(); // by channel
  const said = new Map<string, number>();
  const browsers = new Map<string, { id: string; browser: SubscribedBrowser }>();

  const smtp = opened.use(
    await startSmtp({
      onMail({ to, raw }) {
        mails.push({ to, id: readMail(raw).headers['message-id']! });
        dying?.asked();
      },
    }),
  );
  const internet = opened.use(
    await startInternet([HOST], (request, response) => {
      const pieces: Buffer[] = [];
      request.on('data', (piece: Buffer) => void pieces.push(piece));
      request.on('end', () => {
        const { id, browser } = browsers.get(request.url!.slice(1))!;
        pushes.push({ to: id, text: browser.read(Buffer.concat(pieces)) });
        if (!dying?.asked()) response.writeHead(201).end();
        else request.socket.destroy();
      });
    }),
  );

  const network = openNetwork();
  /** A request that a dead host made is never answered. */
  const answered = <T>(answer: T): T | Promise<never> =>
    dying?.asked() ? new Promise<never>(() => undefined) : answer;
  const commentOf = (release: string, n: number) => ({
    id: `${release} ${n}`,
    text: `Comment ${n}`,
    author: { id: `author-${n}`, name: `Author ${n}` },
    createdAt: new Date(now - HOUR + n * 1_000),
  });
  network.declares = {
    metricsAtOnce: 1,
    metrics: (({ posts }: { posts: readonly { id: string }[] }) =>
      answered(Promise.resolve(posts.map(({ id }) => ({ id, counts: { likes: 7 } }))))) as never,
    channelMetrics: (({ from }: { from: string }) =>
      answered(Promise.resolve([{ metric: 'views', points: [{ date: from, value: 5 }] }]))) as never,
    comments: (({ published: { id } }: { published: { id: string } }) =>
      answered(
        Promise.resolve({ comments: Array.from({ length: said.get(id) ?? 0 }, (_, n) => commentOf(id, n)) }),
      )) as never,
    comment: {
      once: 'key',
      replies: true,
      find: async ({ post: { id } }: { post: { id: string } }) =>
        replies.some((one) => one.id === id) ? { id: `w-${id}`, url: '' } : undefined,
      send: ({ account, post: { id } }: { account: string; post: { id: string } }) => {
        replies.push({ orgId: orgs.get(account)!, id });
        return answered(Promise.resolve({ id: `w-${id}`, url: '' }));
      },
    } as never, // the line of a channel is wider
  };
  const uploads = mkdtempSync(join(tmpdir(), 'rookery-crash-uploads-'));
  opened.defer(() => rmSync(uploads, { recursive: true, force: true }));
  const env = {
    UPLOAD_FOLDER: uploads, // one for all hosts
    SSRF_ALLOWED_PRIVATE_CIDRS: '127.0.0.1/32',
    EMAIL_PROVIDER: 'smtp',
    EMAIL_SMTP_HOST: '127.0.0.1',
    EMAIL_SMTP_PORT: String(smtp.port),
    EMAIL_SMTP_SECURE: 'none',
    EMAIL_FROM_ADDRESS: 'no-reply@example.com',
    ANALYTICS_DAILY_RETENTION_DAYS: '60',
    ...VAPID,
  };
  const setup = { db, env, now: () => now, parts: { adapters: [network.adapter], network: internet.network } };
  const host = opened.use(await openCrashing(setup));
  const admin = newId();
  await sql`
    insert into users (id, email, provider_name, provider_id, activated, is_super_admin)
    values (${admin}, 'admin@example.com', 'local', ${admin}, true, true)`;

  async function person(orgId: string, roleKey: string): Promise<CrashPerson> {
    const id = newId();
    const email = `${id}@example.com`;
    const browser = subscribedBrowser(`https://${HOST}/${id}`);
    const hash = createHash('sha256').update(browser.token).digest();
    browsers.set(id, { id, browser });
    await sql`
      insert into users (id, email, provider_name, provider_id, activated) values (${id}, ${email}, 'local', ${id}, true)`;
    await sql`
      insert into user_profiles (user_id, name, notification_preferences)
      values (${id}, 'Ann', ${JSON.stringify({ digest: roleKey === 'owner' ? 'Daily' : 'Instant' })}::text::jsonb)`;
    await sql`insert into memberships (org_id, user_id, role_key) values (${orgId}, ${id}, ${roleKey})`;
    await sql`
      insert into sessions (id, user_id, token_hash, expires_at) values (${id}, ${id}, ${hash}, now() + interval '9 years')`;
    await sql`
      insert into push_tokens (id, user_id, session_id, token, token_hash, via, platform)
      values (${newId()}, ${id}, ${id}, ${browser.token}, ${hash}, 'web-push', 'web')`;
    return { id, email };
  }
  const texts = async (rows: Promise<readonly { text: string }[]>) => (await rows).map(({ text }) => text).toSorted();
  const idsOf = (people: readonly CrashPerson[]) => people.map(({ id }) => id);
  const factsOf = (orgId: string) => texts(sql`select topic as text from outbox where org_id = ${orgId}`);

  /** A statement that counts and sums the rows of an organization in each table: planned once for all deaths. */
  async function placesText(): Promise<string> {
    const tables = await sql<{ name: string; column: string }[]>`
      select table_name as name, column_name as column
      from information_schema.columns
      where table_schema = current_schema() and column_name = 'org_id'
        and table_name in (select tablename from pg_tables where schemaname = current_schema())
      union all values ('organizations', 'id')
      order by 1`;
    return tables
      .map(
        ({ name, column }) => `
          select '${name}' as name, count(*)::int as n, md5(string_agg(t::text, '|' order by t::text)) as sum
          from "${name}" t where "${column}" = $1::uuid`,
      )
      .join(' union all ');
  }
  let places: Promise<string> | undefined;

  const end = opened.move();
  return {
    db,
    host,
    mails,
    pushes,
    replies,
    /** A process that may die. */
    async open(): Promise<CrashingHost> {
      const one = await openCrashing(setup);
      dying = one;
      return one;
    },
    /** Lets it be the next night, and nothing be left of what was before. */
    async begin(): Promise<void> {
      dying = undefined;
      now = START + ++days * DAY;
      await db.setTime(now);
      for (const table of ['organizations', 'outbox', 'emails', 'pushes', 'notification_windows', 'notifications'])
        await sql`delete from ${sql(table)}`;
    },
    /** Lets time pass, after which whoever dies is another one. */
    async pass(ms: number): Promise<void> {
      dying = undefined;
      now += ms;
      await db.setTime(now);
    },
    async org({ channels = 0 } = {}): Promise<Seeded> {
      const orgId = newId();
      await sql`insert into organizations (id, name) values (${orgId}, 'Acme')`;
      const people = [await person(orgId, 'owner'), await person(orgId, 'member')];
      const ids = Array.from({ length: channels }, newId);
      for (const id of ids) {
        orgs.set(id, orgId);
        await sql`
          insert into channels (id, org_id, provider_id, provider_version, internal_id, name, credentials)
          values (${id}, ${orgId}, 'fake', 'v1', ${id}, 'Channel', ${sealedLogin(id)})`;
      }
      return { orgId, people, channels: ids, admin };
    },
    /** A post that is out for some hours, with so many comments below it. */
    async post({ orgId, people }: Seeded, channelId: string, { comments = 0 } = {}): Promise<string> {
      const id = newId();
      said.set(`r-${id}`, comments);
      await sql`
        insert into posts (id, org_id, channel_id, group_id, state, content, publish_date, published_at, release_id,
          release_url, created_by)
        values (${id}, ${orgId}, ${channelId}, ${id}, 'PUBLISHED', 'x', now(), now() - interval '3 hours', ${`r-${id}`},
          'https://fake.example/', ${people[1]!.id})`;
      return id;
    },
    sweepDue: ({ orgId, channels }: Seeded) => sql`
      insert into comment_sweeps (channel_id, org_id, next_run_at) values (${channels[0]!}, ${orgId}, now())`,
    /** Rows of each table that retention is about: three that are too old, and one that is not. */
    async old(seeded: Seeded): Promise<void> {
      const { orgId, people, channels } = seeded;
      const postId = await this.post(seeded, channels[0]!);
      for (let n = 0; n < 4; n++) {
        const ago = sql`(now() - ${n === 0 ? 1 : 300 + n}::int * interval '1 day')`;
        await sql`
          insert into notifications (id, org_id, user_id, source, category, title, content, created_at)
          values (${newId()}, ${orgId}, ${people[1]!.id}, ${`s ${n}`}, 'storage', ${`Title ${n}`}, '', ${ago})`;
        await sql`
          insert into emails (id, org_id, to_address, template, provider_id, provider_version, status, sent_at, created_at)
          values (${newId()}, ${orgId}, ${people[1]!.email}, 'activation', 'smtp', 'v1', 'sent', ${ago}, ${ago})`;
        await sql`
          insert into social_comments (id, org_id, channel_id, post_id, external_id, content, author_id, author_name,
            is_own, created_at)
          values (${newId()}, ${orgId}, ${channels[0]!}, ${postId}, ${`old ${n}`}, ${`Old ${n}`}, 'a', 'A', false, ${ago})`;
        await sql`
          insert into analytics_post_days (org_id, channel_id, post_id, date, counts)
          values (${orgId}, ${channels[0]!}, ${postId}, ${ago}::date, '{"likes": 1}')`;
        await sql`
          insert into analytics_days (org_id, channel_id, metric, date, value)
          values (${orgId}, ${channels[0]!}, 'views',
            case when ${n}::int = 0 then ${ago}::date else date_trunc('week', now() - interval '300 days')::date + ${n}::int end, ${n + 1})`;
      }
    },
    async mailsOf(people: readonly CrashPerson[]) {
      const rows = await sql<{ to: string; status: string }[]>`
        select to_address as "to", status from emails where to_address = any(${people.map(({ email }) => email)}::text[])`;
      return people.map(({ email }) =>
        rows
          .filter(({ to }) => to === email)
          .map(({ status }) => status)
          .toSorted(),
      );
    },
    async noticesOf({ orgId, people }: Seeded) {
      const rows = await sql<{ id: string; text: string }[]>`
        select user_id as id, 'row ' || title as text from notifications where org_id = ${orgId}
        union all
        select user_id, 'line ' || split_part(kind, ' ', 1) || ' ' || title from notification_lines where org_id = ${orgId}
        union all
        select user_id, 'window ' || split_part(kind, ' ', 1) from notification_windows
        where user_id = any(${idsOf(people)}::uuid[])
        union all
        select t.user_id, 'push ' || p.title from pushes p join push_tokens t on t.id = p.token_id`;
      return {
        rows: people.map(({ id }) =>
          rows
            .filter((row) => row.id === id)
            .map(({ text }) => text)
            .toSorted(),
        ),
        mails: await this.mailsOf(people),
      };
    },
    async numbersOf({ orgId }: Seeded) {
      const since = sql`${new Date(START + days * DAY).toISOString().slice(0, 10)}::date`;
      return {
        facts: await factsOf(orgId),
        days: await texts(sql`
          select concat_ws(' ', metric, date - ${since}, value, derived) as text from analytics_days where org_id = ${orgId}`),
        weeks: await texts(sql`
          select concat_ws(' ', metric, value) as text from analytics_weeks where org_id = ${orgId}`),
        posts: await texts(sql`
          select concat_ws(' ', date - ${since}, counts) as text from analytics_post_days where org_id = ${orgId}`),
        runs: await texts(sql`
          select concat_ws(' ', day - ${since}, completed_at is not null) as text from analytics_runs where org_id = ${orgId}`),
        left: await texts(sql`select 'left' as text from analytics_collections where org_id = ${orgId}`),
        gaps: await texts(sql`select reason as text from analytics_gaps where org_id = ${orgId}`),
      };
    },
    async commentsOf({ orgId }: Seeded) {
      return {
        facts: await factsOf(orgId),
        comments: await texts(sql`
          select concat_ws(' ', content, is_own, replied_at is not null) as text
          from social_comments where org_id = ${orgId}`),
        reads: await texts(sql`select is_silent::text as text from comment_reads where org_id = ${orgId}`),
        followUps: await texts(sql`
          select concat_ws(' ', kind, state, release_id is not null) as text from post_follow_ups where org_id = ${orgId}`),
      };
    },
    async erasedOf(seeded: Seeded) {
      const { people, orgId } = seeded;
      const [, { id }] = people as [CrashPerson, CrashPerson];
      const hash = createHash('sha256').update(id).digest();
      return {
        ...(await this.noticesOf(seeded)),
        users: await texts(sql`select 'left' as text from users where id = any(${idsOf(people)}::uuid[])`),
        receipts: await texts(sql`select counts::text as text from erasures where subject_hash = ${hash}`),
        notes: await texts(sql`
          select a.action as text from audit_log a join erasures e on e.id::text = a.resource_id
          where e.subject_hash = ${hash}`),
        makers: await texts(sql`
          select case when u.id is null then 'deleted user' else 'a user' end as text
          from posts p left join users u on u.id = p.created_by where p.org_id = ${orgId}`),
      };
    },
    /** What an organization leaves in places that no key of the database ties to it, and a file with its bytes. */
    async leaves({ orgId, people, channels }: Seeded): Promise<void> {
      const key = `${orgId}/file.png`;
      mkdirSync(dirname(join(uploads, key)), { recursive: true });
      writeFileSync(join(uploads, key), 'bytes');
      await sql`
        insert into files (id, org_id, name, original_name, storage_key, kind, mime, bytes)
        values (${newId()}, ${orgId}, 'a.png', 'a.png', ${key}, 'image', 'image/png', 5)`;
      await sql`
        insert into idempotency_keys (org_id, scope, key, body_hash, claim, claimed_until, status, reply)
        values (${orgId}, ${`${people[0]!.id} POST /x`}, 'k', ${Buffer.from('x')}, ${newId()}, now(), 201, 'v2:sealed')`;
      await sql`
        insert into actor_reminders (type, id, name, due_at, version)
        values ('Channel', ${`${orgId}:${channels[0]!}`}, 'due', now() + interval '1 day', ${newId()})`;
      await sql`
        insert into outbox_refused (listener, id, org_id, topic, entity_id, payload, created_at, error)
        values ('webhooks', ${Math.floor(Math.random() * 2 ** 40)}, ${orgId}, 'post.published', ${newId()}, '{}', now(), 'e')`;
      await sql`
        insert into audit_log (org_id, user_id, action, resource, resource_id)
        select ${orgId}::uuid, ${people[0]!.id}::uuid, 'settings.updated', 'settings', n::text from generate_series(1, 4) n`;
    },
    /** Where rows, reminders and objects of an organization are, each with their number and, as one sum, what they say. */
    async placesOf(orgId: string): Promise<Record<string, string>> {
      const text = await (places ??= placesText());
      const rows = await sql.unsafe<{ name: string; n: number; sum: string }[]>(text, [orgId], { prepare: true });
      const [reminders] = await sql<{ n: number }[]>`
        select count(*)::int as n from actor_reminders where id like ${`%${orgId}%`}`;
      const objects = readdirSync(uploads, { recursive: true, encoding: 'utf8' });
      const files = objects.filter((path) => path.startsWith(orgId) && path.endsWith('.png'));
      return {
        ...Object.fromEntries(rows.filter(({ n }) => n > 0).map(({ name, n, sum }) => [name, `${n} ${sum}`])),
        ...(reminders!.n > 0 && { reminders: String(reminders!.n) }),
        ...(files.length > 0 && { files: files.join() }),
      };
    },
    /** What the service itself keeps of the end of an organization. */
    async endOf(orgId: string) {
      const hash = createHash('sha256').update(orgId).digest();
      return {
        receipts: await texts(sql`select counts::text as text from erasures where subject_hash = ${hash}`),
        notes: await texts(sql`
          select action as text from audit_log
          where resource_id = ${orgId} or resource_id in (select id::text from erasures where subject_hash = ${hash})`),
      };
    },
    [Symbol.asyncDispose]: () => end.disposeAsync(),
  };
}
export type CrashWorld = Awaited<ReturnType<typeof crashWorld>>;
