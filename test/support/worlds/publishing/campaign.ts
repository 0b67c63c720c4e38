import { expect } from '@jest/globals';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { mkdtempSync, rmSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Database } from '../../../../src/platform/db/index.ts';
import { newId, randomBase62 } from '../../../../src/platform/kernel/index.ts';
import type { Media, Published, SocialAdapter } from '../../../../src/providers/registry/index.ts';
import { sealCredentials } from '../../../../src/publishing/channels/credentials.ts';
import { NOW, POST_ID } from '../../peers/suites/social.ts';
import { testDatabase } from '../../wire/database.ts';
import { moved, type Played, startPlayed } from '../../wire/played.ts';
import { testApp } from '../app.ts';
import { type Faults, openTargets, type Target } from './campaign-targets.ts';
import { clockWhere, startPublisher } from './world.ts';

/** What addresses of files begin with. */
const BACKEND = 'https://files.rookery.example';

interface Outcome {
  id: string;
  state: string;
  detail: string | null;
  releaseId: string | null;
  releaseUrl: string | null;
  /** Its timeline, but for the steps of networks that take several. */
  kinds: string[];
}

/**
 * One organization with a channel of each network, and one create with a post for each of them: the API, the actors and
 * the adapters of the product, and the networks on the wire.
 */
export async function startCampaign(faults: Faults = {}) {
  await using stack = new AsyncDisposableStack();
  const folder = mkdtempSync(join(tmpdir(), 'rookery-campaign-'));
  stack.defer(() => rmSync(folder, { recursive: true, force: true }));
  const targets = await openTargets(faults, stack);
  const channels = new Map(targets.map(({ adapter: { id } }) => [id, newId()]));
  const files = new Map(targets.map(({ adapter: { id } }) => [id, [] as (readonly [ours: string, theirs: string])[]]));
  const db = stack.use(await testDatabase());
  const postIdOf = async (id: string) =>
    (await db.sql<{ id: string }[]>`select id from posts where channel_id = ${channels.get(id)!}`)[0]!.id;

  const played = targets.flatMap(({ adapter: { id }, network }): Played[] => {
    if (!('publish' in network)) return [];
    let postId: Promise<string> | undefined;
    const words = async () => [[await (postId ??= postIdOf(id)), POST_ID] as const, ...files.get(id)!];
    return [{ ...network, words }];
  });
  const byMs = Math.floor((Date.now() - NOW.getTime()) / 1_000) * 1_000;
  const wire = stack.use(await startPlayed(played, { now: NOW, byMs }));
  const reached = stack.adopt(watchSockets(), ({ end }) => end()).addresses;

  const env = { NEXT_PUBLIC_BACKEND_URL: BACKEND, UPLOAD_FOLDER: folder };
  const clock = clockWhere((ms) => (ms <= 5_000 ? Math.min(ms, 20) : ms)); // short waits between the steps of a post
  const world = stack.use(await startPublisher({ url: db.url, wire: wire.network, clock, env }));
  const app = stack.use(await testApp({ sql: db.sql, env, clock, ...world.beside }));
  const { orgId, withKey } = await app.signUp();
  const key = await withKey();
  for (const { adapter, account } of targets)
    await db.sql`
      insert into channels (id, org_id, provider_id, provider_version, internal_id, name, credentials)
      values (${channels.get(adapter.id)!}, ${orgId}, ${adapter.id}, ${adapter.version}, ${account.account},
        ${adapter.title}, ${sealCredentials(world.context.vault, { ...account, grantedAt: new Date() })})`;

  const ended = new Set<string>();
  const open = stack.move();
  return {
    targets,
    /** Requests that no exchange answers. */
    faults: wire.faults,
    /** Hosts outside of the fixtures that the product wanted to call. */
    refused: wire.refused,
    /** Addresses that any socket of this process was connected to. */
    reached,
    /** Creates all posts in one request of the public API. */
    async publish() {
      const posts = await Promise.all(
        targets.map(async ({ adapter: { id }, input: { content, media = [], settings } }) => {
          const kept = await Promise.all(media.map((file) => keepFile(db.sql, { orgId, folder, file })));
          files.get(id)!.push(...kept.flatMap(({ words }) => words));
          return {
            integration: { id: channels.get(id)! },
            value: [{ content, image: kept.map(({ image }) => image) }],
            settings: { __type: id, ...settings },
          };
        }),
      );
      return key.post('/public/v1/posts', { type: 'now', shortLink: false, tags: [], posts });
    },
    /** Has everything that waits go on now; answers how many posts are still in the queue. */
    async hurry(): Promise<number> {
      await endWaits(db.sql, ended);
      await world.reconciler.sweep();
      return (await db.sql`select from posts where state = 'QUEUE'`).length;
    },
    /** What became of each post, by network. */
    async outcomes(): Promise<Map<string, Outcome>> {
      const rows = await db.sql<Outcome[]>`
        select c.provider_id as id, p.state, p.detail, p.release_id as "releaseId", p.release_url as "releaseUrl",
          array(
            select t.kind
            from post_timeline t
            where t.post_id = p.id and t.kind <> 'accepted'
            order by t.id
          ) as kinds
        from posts p
        join channels c on c.id = p.channel_id`;
      // where steps take long, a post that waits for its network between them is claimed again
      const onceIn = (kinds: readonly string[]) =>
        kinds.filter((kind, n) => kind !== 'claimed' || kinds[n - 1] !== kind);
      return new Map(rows.map((row) => [row.id, { ...row, kinds: onceIn(row.kinds) }]));
    },
    /** The outcome of a post that is published, with the release that its fixture has. */
    async publishedAs({ adapter: { id, once } }: Target, release: Published | undefined) {
      const text = JSON.stringify(release ?? {}).replaceAll(POST_ID, await postIdOf(id));
      const known = JSON.parse(moved(text, NOW, byMs)) as Record<string, string>;
      const { id: releaseId = expect.stringMatching(/./), url: releaseUrl = expect.stringMatching(/^https:/) } = known;
      return {
        id,
        state: 'PUBLISHED',
        detail: null,
        kinds: ['created', ...attemptKinds(once), 'published'],
        releaseId,
        releaseUrl,
      };
    },
    /** How often something was made at a network, and how often it is for one post. */
    madeBy: ({ adapter: { id }, network }: Target): { made: number; wanted: number } =>
      'publish' in network
        ? { made: wire.partOf(id)!.made, wanted: network.publish.filter(({ creates }) => creates).length }
        : { made: network.posts.length, wanted: 1 },
    /** Look-ups that do not show the post: how many there are to be, and how many were not made. */
    hiddenFrom: ({ adapter: { id }, network }: Target): { lookUps: number; left: number } =>
      'publish' in network ? { lookUps: network.late.length, left: wire.partOf(id)!.hidden } : { lookUps: 0, left: 0 },
    /** Requests of the fixture that were not made. */
    leftOf: ({ adapter: { id } }: Target): string[] =>
      (wire.partOf(id)?.left ?? []).map(({ asks }) => `${asks.method} ${asks.url}`),
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}
export type Campaign = Awaited<ReturnType<typeof startCampaign>>;

/** What a timeline tells of an attempt before its outcome. */
export const attemptKinds = (once: SocialAdapter['once']): string[] =>
  once === 'at-most-once' ? ['claimed', 'request_sent'] : ['claimed'];

function watchSockets() {
  const addresses = new Set<string>();
  const watch = (message: unknown) => {
    const { socket } = message as { socket: Socket };
    socket.once('connect', () => socket.remoteAddress !== undefined && addresses.add(socket.remoteAddress));
  };
  subscribe('net.client.socket', watch);
  return { addresses, end: () => void unsubscribe('net.client.socket', watch) };
}

/** Puts a file of a fixture into the library, byte for byte; answers how a post names it, and its words in requests. */
async function keepFile(sql: Database, { orgId, folder, file }: { orgId: string; folder: string; file: Media }) {
  const { name, alt, kind, contentType, size, width = null, height = null, seconds, publicUrl = '' } = file;
  const id = newId();
  const extension = name.split('.').at(-1)!;
  const key = `${orgId}/${randomBase62(32)}.${extension}`;
  const path = `${BACKEND}/uploads/${key}`;
  await mkdir(join(folder, orgId), { recursive: true });
  await writeFile(join(folder, key), file.open());
  await sql`
    insert into files (id, org_id, name, original_name, storage_key, kind, mime, bytes, width, height, duration_ms)
    values (${id}, ${orgId}, ${name}, ${name}, ${key}, ${kind}, ${contentType}, ${size}, ${width}, ${height},
      ${seconds === undefined ? null : seconds * 1_000})`;
  return { image: { id, path, alt }, words: [[path, publicUrl] as const, [`${id}.${extension}`, name] as const] };
}

/**
 * Ends the waits for polls and look-ups, each once, as the next one may be under way; those for further attempts and for
 * places of networks that are used up. `ended`: the waits that were.
 */
async function endWaits(database: Database, ended: Set<string>): Promise<void> {
  await database.begin(async (sql) => {
    await sql`select from channels order by id for no key update`; // whoever writes a post holds its channel
    const waits = await sql<{ wait: string }[]>`
      update posts
      set look_up_at = now() - interval '1 minute'
      where detail in ('processing', 'unconfirmed')
        and id || ' ' || updated_at <> all(${[...ended]}::text[])
      returning id || ' ' || updated_at as wait`;
    for (const { wait } of waits) ended.add(wait);
    await sql`
      with waiting as (
        update posts
        set due_at = now()
        where state = 'QUEUE' and detail in ('scheduled', 'retrying') and due_at > now()
        returning channel_id
      )
      update channels
      set next_due_at = now() - interval '1 minute', resting_until = null, due_version = due_version + 1
      where id in (select channel_id from waiting)`;
    await sql`delete from network_paces`; // last: whatever waits by now has taken its place before
  });
}
