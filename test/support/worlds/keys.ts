import { type Clock, systemClock } from '../../../src/platform/kernel/index.ts';
import { testDatabase } from '../wire/database.ts';
import { type Client, testApp } from './app.ts';

export const create = (client: Client, body: unknown = { name: 'ci' }) => client.post('/user/api-keys', body);
export const list = async (client: Client) =>
  (await client.get('/user/api-keys')).body as {
    id: string;
    name: string;
    prefix: string;
    expiresAt: string | null;
    revokedAt: string | null;
    lastUsedAt: string | null;
    createdAt: string;
  }[];

/** A product with two people in an organization each, and a clock that can be put forward. */
export async function openKeys() {
  await using opened = new AsyncDisposableStack();
  let ahead = 0;
  let wall = 0;
  const clock: Clock = {
    ...systemClock,
    monotonic: () => systemClock.monotonic() + ahead,
    now: () => systemClock.in(wall),
  };
  const db = opened.use(await testDatabase());
  const app = opened.use(await testApp({ sql: db.sql, clock }));
  await app.signUp();
  const [ann, eve] = [await app.signUp(), await app.signUp()];
  const kept = opened.move();
  return {
    db,
    app,
    clock,
    ann,
    eve,
    /** What is known of keys may be a second old: from here on it is not older than this. */
    aSecondLater: () => void (ahead += 1_000),
    /** So much later by the wall clock. */
    setWall: (ms: number) => void (wall = ms),
    works: async (key: string) =>
      (await app.client().get('/public/v1/is-connected', { authorization: key })).status === 200,
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}
