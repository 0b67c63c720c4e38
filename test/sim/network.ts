import { z } from 'zod';
import { ProviderError } from '../../src/platform/kernel/index.ts';
import type { OnceClass, Post, Published, SocialAdapter } from '../../src/providers/registry/index.ts';
import { type Repost, social } from '../../src/providers/social/_contract.ts';
import type { Kernel, Process } from './kernel.ts';
import type { Random } from '../support/random.ts';

/** A network of each class, each an adapter of its own beside those of the product. */
export const CLASSES: readonly OnceClass[] = ['key', 'two-phase', 'own-id', 'read-back', 'at-most-once'];
export const providerOf = (once: OnceClass): string => `sim-${once}`;

/** Likes that every post has, as soon as it is out. */
const LIKES = 10;
/** Repeats a post that has them, at one of three looks that lie close to each other. */
export const plugOf = (once: OnceClass) => ({
  kind: 'auto' as const,
  act: 'repost' as const,
  identifier: `simRepost${once.replaceAll('-', '')}`,
  title: 'Repost',
  description: 'Repeats a post that has likes.',
  runEveryMilliseconds: 10_000,
  totalRuns: 3,
  disabled: false,
  fields: [{ name: 'likesAmount', type: 'number' as const, description: 'Likes', placeholder: '1' }],
});

/** How long a call of an adapter lasts at most. */
const CALL_MS = 20_000;
/** The greatest time that something which was taken is not shown yet. */
const SHOWN_MS = 5_000;

/** What networks do beside taking what they are sent. */
export interface Weather {
  /** The share of calls that end otherwise than well. */
  faulty: number;
  kinds: readonly Answer[];
  /** The greatest usual latency. */
  latencyMs: number;
}
/**
 * `lost`: taken, and nobody is told. `cut`: the same, before it was taken. `late`: taken after the caller has given up.
 */
export const ANSWERS = [
  'rejected',
  'rate_limited',
  'unavailable',
  'reauthorize',
  'lost',
  'cut',
  'late',
  'processing',
] as const;
export type Answer = (typeof ANSWERS)[number];
const MISSING: ReadonlySet<Answer | 'well'> = new Set(['lost', 'cut', 'late']);

/** A call that can make something public, as the network got it. */
export interface Request {
  readonly process: Process;
  readonly once: OnceClass;
  readonly kind: 'post' | 'comment' | 'repost';
  readonly channelId: string;
  /** The post, or the follow-up. */
  readonly id: string;
  readonly text: string;
  readonly at: number;
  /** What the network had prepared for it. */
  readonly container: string | undefined;
  endedAt: number | undefined;
}
/** What a network has taken. */
export interface Taken {
  readonly request: Request;
  readonly release: string;
  readonly shownAt: number;
}
/** What is looked for. */
interface Asked {
  id: string;
  text: string;
  account: string;
  container?: string | undefined;
}
/** What the adapter is handed to publish. */
interface Publishing {
  account: string;
  post: Post;
  saved: unknown;
  save(handle: unknown): Promise<void>;
}
/** Told of what reaches the networks. */
export interface Observer {
  asked(request: Request): void;
  received(request: Request): Promise<void> | void;
  taken(taken: Taken, before: readonly Taken[]): void;
}

/** The networks of a simulation, and their own ledger. */
export function openNetworks(kernel: Kernel, random: Random, weather: () => Weather, observer: Observer) {
  const requests: Request[] = [];
  const ledger: Taken[] = [];
  const containers = new Set<string>();
  /** Until when a channel was told to send nothing, and when it was told so. */
  const limited = new Map<string, { until: number; at: number }>();
  const refused = new Set<string>();

  const findAll = (kind: Request['kind'], id: string) =>
    ledger.filter(({ request }) => request.kind === kind && request.id === id);

  function take(request: Request): Published {
    const before = findAll(request.kind, request.id);
    // a key and an own id are what the network knows a repeat by, and so is a container
    const known = ['key', 'own-id', 'two-phase'].includes(request.once)
      ? before.find((one) => one.request.container === request.container)
      : undefined;
    const taken = known ?? {
      request,
      release: `r${ledger.length}-${request.id}`,
      shownAt: kernel.now + random.below(SHOWN_MS),
    };
    if (!known) {
      ledger.push(taken);
      kernel.note(`- ${providerOf(request.once)} took ${request.kind} ${request.id} ${request.text}`);
      observer.taken(taken, before);
    }
    return { id: taken.release, url: `https://sim.example/${taken.release}` };
  }

  /** One exchange: what is drawn for it is drawn when it leaves, and happens whatever becomes of the caller. */
  function exchange<T>(label: string, answers: readonly Answer[], act: (answer: Answer | 'well') => T): Promise<T> {
    const process = kernel.current!;
    const { faulty, kinds, latencyMs } = weather();
    const possible = kinds.filter((kind) => answers.includes(kind));
    const answer = possible.length > 0 && random.chance(faulty) ? random.pick(possible) : 'well';
    const isMissing = MISSING.has(answer);
    const actMs = answer === 'late' ? CALL_MS + random.below(4_000) : 1 + random.below(latencyMs);
    const endMs = isMissing ? 1 + random.below(CALL_MS) : actMs;
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    kernel.after(answer === 'late' ? actMs : Math.min(actMs, endMs), undefined, `${label} acts`, () => {
      let tell: () => void;
      try {
        const value = act(answer);
        tell = () => resolve(value);
      } catch (error) {
        tell = () => reject(error);
      }
      if (!isMissing) kernel.after(1, process, `${label} answers ${answer}`, tell);
    });
    if (isMissing) kernel.after(Math.max(endMs, 2), process, `${label} ${answer}`, () => reject(failures.lost()));
    return promise;
  }

  const failures = {
    rejected: () => new ProviderError('rejected', 'The network does not take this'),
    unavailable: () => new ProviderError('unavailable', 'Out of order'),
    reauthorize: () => new ProviderError('reauthorize', 'Log in again'),
    lost: () => new ProviderError('lost', 'The connection was reset'),
  };

  function limit({ kind, channelId }: Request): ProviderError {
    const retryAfterMs = 1_000 * random.pick([1, 4, random.between(5, 60)]);
    if (kind === 'post') limited.set(channelId, { until: kernel.now + retryAfterMs, at: kernel.now });
    return new ProviderError('rate_limited', 'Too many', { retryAfterMs });
  }

  async function send(request: Request, answers: readonly Answer[]): Promise<Published | { processingMs: number }> {
    requests.push(request);
    observer.asked(request);
    kernel.after(0, undefined, `${providerOf(request.once)} receives ${request.id}`, () => observer.received(request));
    try {
      return await exchange(`${providerOf(request.once)} ${request.kind}`, answers, (answer) => {
        if (answer === 'cut') throw failures.lost();
        if (answer === 'reauthorize') refused.add(request.channelId);
        if (answer === 'rate_limited') throw limit(request);
        if (answer === 'rejected' || answer === 'unavailable' || answer === 'reauthorize') throw failures[answer]();
        const published = take(request);
        return answer === 'processing' ? { processingMs: 1_000 * random.between(1, 8) } : published;
      });
    } finally {
      request.endedAt = kernel.now;
    }
  }

  /** What the network shows of something: by its id, or, where it knows none of ours, what has its text. */
  const find = (once: OnceClass, kind: Request['kind'], asked: Asked) =>
    exchange<Published | readonly Published[] | undefined>(
      `${providerOf(once)} look-up`,
      ['unavailable', 'cut'],
      (answer) => {
        if (answer === 'unavailable') throw failures.unavailable();
        const shown = ledger.filter(({ request, shownAt }) => {
          if (request.kind !== kind || shownAt > kernel.now || request.channelId !== asked.account) return false;
          if (once === 'read-back') return request.text === asked.text;
          if (once === 'two-phase' && kind === 'post') return request.container === asked.container;
          return request.id === asked.id;
        });
        const released = shown.map(({ release }) => ({ id: release, url: `https://sim.example/${release}` }));
        return once === 'read-back' ? released : released[0];
      },
    );

  const requestOf = (
    once: OnceClass,
    kind: Request['kind'],
    channelId: string,
    post: Pick<Post, 'id' | 'text'>,
    container?: string,
  ) => ({
    process: kernel.current!,
    once,
    kind,
    channelId,
    id: post.id,
    text: post.text,
    at: kernel.now,
    container,
    endedAt: undefined,
  });
  const toSend = ANSWERS.filter((answer) => answer !== 'processing');

  function adapterOf(once: OnceClass): SocialAdapter {
    const classOf = <F>(finding: F) => (once === 'at-most-once' ? { once } : { once, find: finding });
    return social({
      id: providerOf(once),
      version: 'v1',
      title: `Network ${once}`,
      description: 'A network of the simulation.',
      status: 'active',
      authType: 'none',
      threads: 'reply',
      credentials: { server: { label: 'Server', required: false, secret: false } },
      api: 'https://sim.example',
      timeoutMs: CALL_MS + 5_000,
      login: { kind: 'credentials' },
      limits: { text: 300, unit: 'characters', media: 4, mediaTypes: ['image/*'] },
      settings: z.looseObject({}),
      profile: ({ account }: { account: string }) =>
        exchange(`${providerOf(once)} profile`, [], () => {
          if (refused.has(account)) throw failures.reauthorize();
          return { id: account, name: 'Channel', handle: '' };
        }),
      async publish({ account, post, saved, save }: Publishing) {
        let container = (saved as { container?: string } | undefined)?.container;
        if (once === 'two-phase' && container === undefined) {
          container = await exchange(`${providerOf(once)} prepare`, ['unavailable', 'cut'], (answer) => {
            if (answer !== 'well') throw failures.unavailable();
            containers.add(`c${containers.size}`);
            return `c${containers.size}`;
          });
          await save({ container });
        }
        const request = requestOf(once, 'post', account, post, container);
        return send(request, once === 'key' ? ANSWERS : toSend);
      },
      async poll({ account, post }: { account: string; post: Post }) {
        const shown = await find(once, 'post', { ...post, account });
        const first = shown !== undefined && 'id' in shown ? shown : shown?.[0];
        return first ?? { processingMs: 1_000 };
      },
      ...classOf(
        ({ account, post, saved }: { account: string; post: Post; saved: { container?: string } | undefined }) =>
          find(once, 'post', { ...post, account, container: saved?.container }),
      ),
      plugs: [plugOf(once)],
      metricsAtOnce: 100,
      metrics: ({ posts }: { posts: readonly Published[] }) =>
        exchange(`${providerOf(once)} counts`, ['unavailable'], (answer) => {
          if (answer === 'unavailable') throw failures.unavailable();
          return posts.map(({ id }) => ({ id, counts: { likes: LIKES } }));
        }),
      repost: {
        ...classOf(({ account, repost }: { account: string; repost: Repost }) =>
          find(once, 'repost', { id: repost.id, text: repost.published.id, account }),
        ),
        send: ({ account, repost }: { account: string; repost: Repost }) =>
          send(requestOf(once, 'repost', account, { id: repost.id, text: repost.published.id }), toSend),
      } as never,
      comment: {
        ...classOf(({ account, post }: { account: string; post: Post }) => find(once, 'comment', { ...post, account })),
        send: ({ account, post }: { account: string; post: Post }) =>
          send(requestOf(once, 'comment', account, post), toSend) as Promise<Published>,
      } as never, // one literal for both kinds of class
    } as never);
  }

  return {
    adapters: CLASSES.map(adapterOf),
    exchange,
    requests,
    /** A post that some network has at this moment. */
    underWay: () => requests.findLast(({ endedAt, kind }) => endedAt === undefined && kind === 'post')?.id,
    findAll,
    limited,
    /** Its login is taken again. */
    accept: (channelId: string) => refused.delete(channelId),
  };
}
export type Networks = ReturnType<typeof openNetworks>;
