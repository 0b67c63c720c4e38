import { setTimeout as sleep } from 'node:timers/promises';
import { Pool } from 'undici';
import { type Figures, spread } from './figures.ts';
import { CONTENT } from './seed.ts';

export interface Load extends AsyncDisposable {
  /** Sends a body with a key. Rejects on any other status than 201. */
  post(path: string, key: string, body: object): Promise<unknown>;
  /** Does the work for each item, `callers` at a time; answers in the order of the items. */
  each<T, R>(items: readonly T[], work: (item: T, n: number) => Promise<R>): Promise<R[]>;
  /** `callers` calls under way at all times; answers how many ended. */
  closed(ms: number, work: (n: number) => Promise<unknown>): Promise<number>;
}

export function openLoad(url: string, callers: number): Load {
  const pool = new Pool(url, { connections: 256, pipelining: 1 });
  return {
    async post(path, key, body) {
      const answer = await pool.request({
        method: 'POST',
        path,
        headers: { authorization: key, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      const text = await answer.body.text();
      if (answer.statusCode !== 201)
        throw new Error(`POST ${path} answered ${answer.statusCode} ${text.slice(0, 300)}`);
      return JSON.parse(text) as unknown;
    },
    async each(items, work) {
      const results: Awaited<ReturnType<typeof work>>[] = [];
      let next = 0;
      await Promise.all(
        Array.from({ length: callers }, async () => {
          while (next < items.length) {
            const n = next++;
            results[n] = await work(items[n]!, n);
          }
        }),
      );
      return results;
    },
    async closed(ms, work) {
      const end = performance.now() + ms;
      let begun = 0;
      let ended = 0;
      await Promise.all(
        Array.from({ length: callers }, async () => {
          while (performance.now() < end) {
            await work(begun++);
            ended += 1;
          }
        }),
      );
      return ended;
    },
    [Symbol.asyncDispose]: () => pool.destroy(),
  };
}

/** Calls at a fixed rate, whatever the answers do; each latency counts from the moment the call was meant to begin. */
export async function openLoop(
  name: string,
  { perSecond, ms }: { perSecond: number; ms: number },
  work: (n: number) => Promise<unknown>,
): Promise<Figures> {
  const started = performance.now();
  const total = Math.floor((perSecond * ms) / 1_000);
  const latencies: number[] = [];
  const calls: Promise<void>[] = [];
  for (let n = 0; n < total;) {
    const now = performance.now();
    for (
      let intended = started + (n * 1_000) / perSecond;
      n < total && intended <= now;
      intended = started + (n * 1_000) / perSecond
    ) {
      calls.push(work(n).then(() => void latencies.push(performance.now() - intended)));
      n += 1;
    }
    await sleep(1);
  }
  await Promise.all(calls);
  return spread(name, latencies);
}

/** One create by the public API; answers the post's id. */
export async function createPost(
  load: Load,
  { key, channelId, due }: { key: string; channelId: string; due: Date },
): Promise<string> {
  const answer = (await load.post('/public/v1/posts', key, bodyOf(channelId, due))) as { postId: string }[];
  return answer[0]!.postId;
}
const bodyOf = (channelId: string, due: Date) => ({
  type: 'schedule',
  date: due.toISOString(),
  shortLink: false,
  tags: [],
  posts: [{ integration: { id: channelId }, value: [{ content: CONTENT, image: [] }], settings: {} }],
});
