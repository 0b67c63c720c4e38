import { expect } from '@jest/globals';
import { newId, systemClock } from '../../../../src/platform/kernel/index.ts';
import { type TestDatabase, testDatabase } from '../../wire/database.ts';
import { settles } from '../../wire/settles.ts';
import { type Client, testApp } from '../app.ts';
import { openNetwork, sealedLogin, startPublisher } from './world.ts';

const HOUR = 3_600_000;
export const later = (ms = HOUR) => systemClock.in(ms).toISOString();
/** One entry of `posts`: a channel and its content. */
export const element = (id: string, content = '<p>Hi</p>', more: object = {}) => ({
  integration: { id },
  value: [{ content }],
  ...more,
});

interface Options {
  env?: Record<string, string>;
  /** Base addresses of networks in the place of their own, by `domain/id`. */
  servers?: Readonly<Record<string, string>>;
  /** Closed with it; default: one of the Postgres that tests share. */
  db?: TestDatabase;
}

/** The product with two channels of one organization and one of another, on a network that tests direct. */
export async function openPostRoutes({ env = {}, servers = {}, db: given }: Options = {}) {
  const db = given ?? (await testDatabase());
  const network = openNetwork();
  const world = await startPublisher({ url: db.url, network, env, servers });
  const app = await testApp({ sql: db.sql, env, ...world.beside });
  const ann = await app.signUp();
  const eve = await app.signUp();
  const key = await ann.withKey();

  async function connect(
    orgId: string,
    name: string,
    more: { disabled?: boolean; refreshNeeded?: boolean } = {},
  ): Promise<string> {
    const id = newId();
    await db.sql`
      insert into channels (id, org_id, provider_id, provider_version, internal_id, name, credentials, disabled,
        refresh_needed)
      values (${id}, ${orgId}, 'fake', 'v1', ${id}, ${name}, ${sealedLogin(id)}, ${more.disabled ?? false},
        ${more.refreshNeeded ?? false})`;
    return id;
  }
  const [channel, second] = await Promise.all([connect(ann.orgId, 'First'), connect(ann.orgId, 'Second')]);
  const foreign = await connect(eve.orgId, 'Foreign');

  const schedule = (more: object = {}) => ({ type: 'schedule', date: later(), posts: [element(channel)], ...more });
  const create = (body: object = schedule(), client = key, headers: Record<string, string> = {}) =>
    client.post('/public/v1/posts', body, headers);
  const rows = async () => (await db.sql`select count(*)::int as n from posts`)[0]!['n'] as number;
  async function made(body: object = schedule()): Promise<string> {
    const answer = await create(body);
    if (answer.status !== 201) throw new Error(answer.text);
    return answer.body[0].postId;
  }
  const read = async (id: string, client: Client = ann.client): Promise<any> => (await client.get(`/posts/${id}`)).body; // oxlint-disable-line typescript/no-explicit-any -- judged by each test
  const published = (id: string) => settles(async () => expect(await read(id)).toMatchObject({ state: 'PUBLISHED' }));

  return {
    db,
    app,
    world,
    network,
    ann,
    eve,
    key,
    channel,
    second,
    foreign,
    connect,
    schedule,
    create,
    rows,
    made,
    read,
    published,
    async close() {
      await app[Symbol.asyncDispose]();
      await world[Symbol.asyncDispose]();
      await db[Symbol.asyncDispose]();
    },
  };
}
