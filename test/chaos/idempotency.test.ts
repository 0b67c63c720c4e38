import { expect, test } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { systemClock } from '../../src/platform/kernel/index.ts';
import { chance, isFull, note, rounds, sizeOf } from '../support/processes/chaos.ts';
import { createdId, postBody } from '../support/processes/client.ts';
import { startEmbedded } from '../support/processes/service.ts';
import { openCrowd } from '../support/processes/wave.ts';
import { testDatabase } from '../support/wire/database.ts';

// Many requests race under each Idempotency-Key while the process that answers them is killed. Whoever gets no answer,
// or is told that another request is under way, asks again.

const KEYS = sizeOf({ full: 1_000, short: 30 });
const REQUESTS = 20;
const KILLS = isFull ? 10 : 2;
const DAY = 86_400_000;
const AGAIN_MS = 50;
const AT_ONCE = 200;
const random = chance('idempotency');

test.each(rounds(1))(
  `round $round of $of: ${REQUESTS} requests for each of ${KEYS} keys make a post each, whatever is killed, and all get the same answer [R10, S18]`,
  async () => {
    await using database = await testDatabase();
    await using service = await startEmbedded({ database });
    await using crowd = await openCrowd(service.url, { orgs: 5, channels: 5 });
    const date = systemClock.in(DAY);
    const answers = new Map<string, Set<string>>();
    let answered = 0;
    let asked = 0;

    async function create(n: number, content = `key ${n}`) {
      const { id: channelId, client } = crowd.channels[n % crowd.channels.length]!;
      asked += 1;
      const response = await fetch(`${client.url}/public/v1/posts`, {
        method: 'POST',
        headers: { authorization: client.key, 'content-type': 'application/json', 'idempotency-key': `race ${n}` },
        body: JSON.stringify(postBody({ channelId, date, content })),
        signal: AbortSignal.timeout(30_000),
      });
      return { status: response.status, text: await response.text() };
    }
    /** Asks until there is an answer of the create itself. */
    async function insist(n: number): Promise<void> {
      for (;;) {
        const given = await create(n).catch(() => undefined); // its connection ended with the process
        if (given?.status === 201) {
          answers.get(`key ${n}`)!.add(given.text);
          answered += 1;
          return;
        }
        if (given && given.status !== 409 && given.status !== 503) throw new Error(`${given.status}: ${given.text}`);
        await sleep(AGAIN_MS);
      }
    }
    const wanted = Array.from({ length: KEYS * REQUESTS }, (_, i) => i % KEYS);
    for (let n = 0; n < KEYS; n += 1) answers.set(`key ${n}`, new Set());
    const racing = Promise.all(
      Array.from({ length: AT_ONCE }, async () => {
        for (let n = wanted.pop(); n !== undefined; n = wanted.pop()) await insist(n);
      }),
    );
    const moments = Array.from({ length: KILLS }, () => random.pick(KEYS * (REQUESTS - 5))).toSorted((a, b) => a - b);
    for (const moment of moments) {
      while (answered < moment) await sleep(1);
      await service.kill(0);
      await service.restart(0);
    }
    await racing;
    note({ keys: KEYS, requests: REQUESTS, kills: KILLS, asked });

    const rows = await database.sql<{ content: string; ids: string[] }[]>`
      select content, array_agg(id::text) as ids from posts group by content`;
    expect(rows).toHaveLength(KEYS);
    for (const { content, ids } of rows) {
      expect(ids).toHaveLength(1);
      const texts = [...answers.get(content.replaceAll(/<\/?p>/g, ''))!];
      expect(texts.map((text) => createdId({ status: 201, body: JSON.parse(text), text }))).toEqual(ids);
    }
    const other = await create(0, 'another text');
    expect([other.status, z.object({ code: z.string() }).parse(JSON.parse(other.text)).code]).toEqual([
      422,
      'idempotency_mismatch',
    ]);
  },
  600_000,
);
