import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { type CallAnswer, call } from '../../../src/operations/cli/call.ts';
import type { Database } from '../../../src/platform/db/index.ts';
import { systemClock } from '../../../src/platform/kernel/index.ts';
import { type ActivationCodes, createdId, postBody, signUpAt } from './client.ts';
import { planIn } from './history/canary.ts';

// Clients that ask the API all the time while something happens to it, and repeat once what was not answered.

const DAY_MS = 86_400_000;
/** After each answer: clients are there to notice, not to be the load. */
const REST_MS = 100;
/** As our client has it for its first repeat, where it is told no other time. */
const PAUSE_MS = 250;
/** Of a service that has done nothing, or of which nobody knows whether it has. */
const REPEATED = new Set([0, 429, 502, 503, 504]);
const Refusal = z.object({ code: z.string().optional(), retryAfter: z.number().optional() });

interface Request {
  method: string;
  path: string;
  body?: object;
  /** Of a create: its Idempotency-Key. */
  key?: string;
}
/** Requests; a repeat is not counted as one. */
export interface AskedCounts {
  asked: number;
  repeated: number;
  failed: number;
}
export interface AskingClients {
  readonly counts: Readonly<AskedCounts>;
  /** The last of what was not answered as it should be, for the message of a test that failed. */
  readonly failures: readonly string[];
  /** Waits until so many more have been asked. */
  asked(more: number): Promise<void>;
  /** Ends when all are answered. Tells what was acknowledged and is not there, or is there twice. */
  end(): Promise<string[]>;
}

/** Has clients create, read and change posts of tomorrow, each one request after another, until they are ended. */
export async function startAsking(
  url: string,
  sql: Database,
  clients: number,
  codeTo: ActivationCodes,
): Promise<AskingClients> {
  const counts: AskedCounts = { asked: 0, repeated: 0, failed: 0 };
  const failures: string[] = [];
  /** By id: the texts that a post may have, as its last change may be unanswered. */
  const texts = new Map<string, string[]>();
  let isOver = false;

  const people = await Promise.all(
    Array.from({ length: clients }, async (_, n) => {
      const client = await signUpAt(url, `Asks ${n}`, planIn(sql), codeTo);
      const channel = await client.own('/integrations/social-connect/sandbox', z.object({ id: z.string() }), {
        body: { fields: { name: `asks-${n}` }, allowPreview: true },
      });
      return { key: client.key, channelId: channel.id };
    }),
  );

  async function send(authorization: string, { method, path, body, key }: Request): Promise<CallAnswer> {
    const headers = { authorization, ...(key !== undefined && { 'idempotency-key': key }) };
    const once = () =>
      call(method, url + path, { headers, body, timeoutMs: 30_000 }).catch((error: unknown) => ({
        status: 0,
        body: undefined,
        text: String(error),
      }));
    await sleep(REST_MS);
    counts.asked += 1;
    const first = await once();
    const { code, retryAfter = 0 } = Refusal.safeParse(first.body).data ?? {};
    const isWorthIt = REPEATED.has(first.status) || code === 'idempotency_in_flight';
    if (isWorthIt) {
      counts.repeated += 1;
      await sleep(Math.max(PAUSE_MS, retryAfter * 1_000));
    }
    const answer = isWorthIt ? await once() : first;
    if (answer.status < 200 || answer.status >= 300) {
      counts.failed += 1;
      failures.push(`${method} ${path}: ${first.status}, ${answer.status} ${answer.text.slice(0, 300)}`);
    }
    return answer;
  }

  async function ask({ key, channelId }: (typeof people)[number]): Promise<void> {
    for (let n = 0; !isOver; n += 1) {
      const text = `Asked ${channelId} ${n}`;
      const body = postBody({ channelId, date: systemClock.in(DAY_MS), content: `<p>${text}</p>` });
      const postId = createdId(await send(key, { method: 'POST', path: '/public/v1/posts', body, key: randomUUID() }));
      if (postId === undefined) continue;
      texts.set(postId, [text]);
      const path = `/public/v1/posts/${postId}`;
      await send(key, { method: 'GET', path });
      const { status } = await send(key, { method: 'PUT', path, body: { content: `<p>Changed ${text}</p>` } });
      texts.set(postId, [`Changed ${text}`, ...(status === 200 ? [] : [text])]);
    }
  }
  const asking = Promise.all(people.map(ask));
  asking.catch(() => undefined); // told at the end

  return {
    counts,
    failures,
    async asked(more) {
      const before = counts.asked;
      while (counts.asked < before + more) await Promise.race([sleep(10), asking]);
    },
    async end() {
      isOver = true;
      await asking;
      const channels = people.map(({ channelId }) => channelId);
      const rows = await sql<{ id: string; content: string }[]>`
        select id, content from posts where channel_id = any(${channels}::uuid[]) and root_post_id is null`;
      const there = new Map(rows.map(({ id, content }) => [id, content.replaceAll(/<\/?p>/g, '')]));
      const wrong = [...texts].flatMap(([id, may]) => {
        const is = there.get(id);
        return is !== undefined && may.includes(is) ? [] : [`${id} is "${is}", and was to be "${may.join('" or "')}"`];
      });
      // who was not answered does not know of a post, and there is one at most
      const unknown = rows.filter(({ id }) => !texts.has(id)).length;
      return unknown > counts.failed ? [...wrong, `${unknown} posts that nobody was told of`] : wrong;
    },
  };
}
