import type { IncomingMessage, ServerResponse } from 'node:http';
import { fits } from './alike.ts';
import { startInternet } from './outside.ts';
import { answer, type Exchange, partsOf, type Says, whole } from './wire.ts';

/** What happens instead of the answer to the request that makes a post public. */
export type Fault = 'hang-up' | 'rate-limit' | 'server-error';

/** A network on the wire: what it is asked for one post, and what it answers. */
export interface Played {
  id: string;
  /** Until the post is out. */
  publish: readonly Exchange[];
  /** What an attempt asks besides that goes on from what an earlier one saved. */
  again: readonly Exchange[];
  /** After a lost answer. */
  find: readonly Exchange[];
  /** What a look-up is answered before that, by a network that does not show the post yet. */
  late: readonly Exchange[];
  /** Reads that the product makes by itself, in any number. */
  asides: readonly Exchange[];
  /** Happens once; the network takes the post all the same, unless it asks to wait. */
  fault: Fault | undefined;
  /** Words of the post and of its files, each with what stands for it in the exchanges. */
  words(): Promise<readonly (readonly [ours: string, theirs: string])[]>;
}

/** A name in a token, by which the networks of one host are told apart. */
const TAG = /(?:~|%7E)([\w-]+)(?:~|%7E)/;

const DATE = /\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d/g;
const SECONDS = /(?<!\d)1\d{9}/g;
const NEAR_MS = 60 * 86_400_000;

/** Moves dates and seconds near a moment along with it; ids made of them as well. */
export const moved = (text: string, from: Date, byMs: number): string =>
  text
    .replace(DATE, (date) => new Date(Date.parse(`${date}Z`) + byMs).toISOString().slice(0, date.length))
    .replace(SECONDS, (seconds) =>
      Math.abs(Number(seconds) * 1000 - from.getTime()) < NEAR_MS ? `${Number(seconds) + byMs / 1000}` : seconds,
    );

/** A value with all its texts rewritten. */
function rewritten(value: unknown, write: (text: string) => string): unknown {
  if (typeof value === 'string') return write(value);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((one) => rewritten(one, write));
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, rewritten(one, write)]));
}

/** What one network is still to be asked, and what it has made. */
function openPart({ id, publish, again, find, late, asides, fault, words }: Played) {
  let left = [...publish];
  let made = 0;
  let dealt = fault;
  const publishing = publish.findLast(({ creates }) => creates);
  const hosts = new Set([...publish, ...again, ...find, ...late, ...asides].map(({ asks }) => new URL(asks.url).host));

  async function isAsked({ asks }: Exchange, request: IncomingMessage, url: string, body: Buffer, loosely: boolean) {
    const parts = await partsOf(asks, request, url, body).catch(() => []);
    const known = await words();
    const asWritten = (text: string) =>
      known.reduce((all, [ours, theirs]) => all.replaceAll(ours, theirs), text.replace(TAG, ''));
    return parts.length > 0 && parts.every((part) => fits(part.wanted, rewritten(part.given, asWritten), loosely));
  }

  return {
    id,
    hosts,
    words,
    /** Number of requests by which something was made. */
    get made() {
      return made;
    },
    get left() {
      return left;
    },
    /** Number of look-ups that the post is to be hidden from yet. */
    get hidden() {
      return left.filter((exchange) => late.includes(exchange)).length;
    },
    /** The first exchange that a request fits, to the letter if there is one. */
    async find(request: IncomingMessage, url: string, body: Buffer): Promise<Exchange | undefined> {
      for (const loosely of [false, true])
        for (const exchange of [...left, ...asides])
          if (await isAsked(exchange, request, url, body, loosely)) return exchange;
      return undefined;
    },
    /** Takes a request and says what is answered. */
    take(exchange: Exchange): Says | 'hang-up' {
      const at = left.indexOf(exchange);
      if (exchange === publishing && dealt === 'rate-limit') {
        dealt = undefined;
        left = [...publish, ...again]; // the next attempt begins anew, or goes on from what was saved
        return { status: 429, headers: { 'retry-after': '1' } };
      }
      if (exchange.creates) made += 1;
      if (at !== -1) left.splice(at, 1);
      if (exchange !== publishing || !dealt) return exchange.says;
      const broken = dealt;
      dealt = undefined;
      left.unshift(...late, ...find);
      return broken === 'hang-up' ? broken : { status: 500, text: 'Something broke' };
    },
  };
}
export type Part = ReturnType<typeof openPart>;

/**
 * All networks at once, each by its exchanges, at whatever host the product calls; times in answers are moved from
 * `now` by `byMs`. A request that fits no exchange is a fault.
 */
export async function startPlayed(networks: readonly Played[], { now, byMs }: { now: Date; byMs: number }) {
  const parts = networks.map(openPart);
  const faults: string[] = [];

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await whole(request);
    const { host = '' } = request.headers;
    const url = `https://${host}${request.url!}`;
    const tag = TAG.exec([url, ...Object.values(request.headers), body.toString()].join('\n'))?.[1];
    for (const part of parts.filter(({ id, hosts }) => (tag === undefined ? hosts.has(host) : id === tag))) {
      const exchange = await part.find(request, url, body);
      if (!exchange) continue;
      const says = part.take(exchange);
      if (says === 'hang-up') return void request.socket.destroy();
      const words = await part.words();
      const said = moved(JSON.stringify(says), now, byMs);
      return answer(response, JSON.parse(words.reduce((all, [ours, theirs]) => all.replaceAll(theirs, ours), said)));
    }
    faults.push(`${tag ?? ''} ${request.method} ${url} ${body.toString().slice(0, 500)}`);
    answer(response, { status: 501, json: { error: 'not as documented' } });
  }

  const hosts = new Set(parts.flatMap((part) => [...part.hosts]));
  const internet = await startInternet(
    [...hosts].map((host) => host.replace(/:\d+$/, '')),
    (request, response) =>
      void serve(request, response).catch((error: unknown) => {
        faults.push(String(error));
        response.destroy();
      }),
  );
  return {
    ...internet,
    faults,
    parts,
    partOf: (id: string) => parts.find((part) => part.id === id),
  };
}
