import { ProviderError, type ProviderFailure } from '../../src/platform/kernel/index.ts';
import type { OnceClass, Post, Published, SocialAdapter } from '../../src/providers/registry/index.ts';
import { type Repost, social } from '../../src/providers/social/_contract.ts';
import { Random } from '../support/random.ts';
import { IN_PROCESS } from '../support/worlds/publishing/network.ts';
import type { Process } from './kernel.ts';
import type { World } from './known.ts';

/** A network of each class, each an adapter of its own beside those of the product. */
export const CLASSES: readonly OnceClass[] = ['key', 'two-phase', 'own-id', 'read-back', 'at-most-once'];
export const providerOf = (once: OnceClass): string => `sim-${once}`;
/** Those that know a repeat: by a key, an own id, a container. */
const KNOWING: readonly OnceClass[] = ['key', 'own-id', 'two-phase'];

/** Likes that every post has, as soon as it is out. */
const LIKES = 10;
/** The plug of a network. */
export const plugOf = (providerId: string): string => providerId.replaceAll('-', '');

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
type Act<T> = (answer: Answer | 'well') => T;
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
  readonly container?: string | undefined;
  endedAt: number | undefined;
}
type Made = Pick<Request, 'once' | 'kind' | 'channelId' | 'id' | 'text' | 'container'>;
/** What a network has taken. */
interface Taken {
  readonly request: Request;
  readonly release: string;
  readonly shownAt: number;
}
/** What the methods of an adapter are handed. */
interface Call {
  account: string;
  post: Post;
  repost: Repost;
  posts: readonly Published[];
  saved: { container: string } | undefined;
  save(handle: unknown): Promise<void>;
}

/** The networks of a simulation, and their own ledger. `sends`: told of each request as it leaves. */
export function openNetworks(world: World, weather: () => Weather, sends: (request: Request) => void) {
  const { kernel } = world;
  const random = new Random(kernel.seed, 'networks');
  const requests: Request[] = [];
  const ledger: Taken[] = [];
  /** How each exchange ended. */
  const answered: (Answer | 'well')[] = [];
  let containers = 0;
  /** Until when a channel was told to send nothing, and when it was told so. */
  const limited = new Map<string, { until: number; at: number }>();
  const refused = new Set<string>();

  const findAll = (kind: Request['kind'], id: string) =>
    ledger.filter(({ request }) => request.kind === kind && request.id === id);
  const publishedAs = ({ release }: Taken): Published => ({ id: release, url: `https://sim.example/${release}` });
  const failed = (failure: ProviderFailure) => new ProviderError(failure, `The network: ${failure}`);

  function take(request: Request): Published {
    const { once, kind, id, container } = request;
    const before = findAll(kind, id);
    const known = KNOWING.includes(once) ? before.find((one) => one.request.container === container) : undefined;
    if (known) return publishedAs(known);
    const taken = { request, release: `r${ledger.length}-${id}`, shownAt: kernel.now + random.below(SHOWN_MS) };
    ledger.push(taken);
    kernel.note(`- ${providerOf(once)} took ${kind} ${id} ${request.text}`);
    world.checks.taken(request, before.length);
    return publishedAs(taken);
  }

  /**
   * One exchange: what is drawn for it is drawn when it leaves, and happens whatever becomes of the caller. It has
   * arrived before the network acts, and before its caller learns anything.
   */
  function exchange<T>(label: string, answers: readonly Answer[], act: Act<T>, arrive = async () => {}): Promise<T> {
    const process = kernel.current!;
    const { faulty, kinds, latencyMs } = weather();
    const possible = kinds.filter((kind) => answers.includes(kind));
    const answer = possible.length > 0 && random.chance(faulty) ? random.pick(possible) : 'well';
    answered.push(answer);
    const isMissing = MISSING.has(answer);
    const actMs = answer === 'late' ? CALL_MS + random.below(4_000) : 1 + random.below(latencyMs);
    const endMs = isMissing ? 1 + random.below(CALL_MS) : actMs;
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    kernel.after(answer === 'late' ? actMs : Math.min(actMs, endMs), undefined, `${label} acts`, () => {
      const done = arrive().then(() => act(answer));
      if (!isMissing) kernel.after(1, process, `${label} answers ${answer}`, () => resolve(done));
      return done.catch(() => {}); // where the answer is missing, nobody hears of it
    });
    if (isMissing)
      kernel.after(Math.max(endMs, 2), process, `${label} ${answer}`, () =>
        arrive().finally(() => reject(failed('lost'))),
      );
    return promise;
  }

  function limit({ kind, channelId }: Request): ProviderError {
    const retryAfterMs = 1_000 * random.pick([1, 4, random.between(5, 60)]);
    if (kind === 'post') limited.set(channelId, { until: kernel.now + retryAfterMs, at: kernel.now });
    return new ProviderError('rate_limited', 'Too many', { retryAfterMs });
  }

  async function send(made: Made, answers: readonly Answer[]): Promise<Published | { processingMs: number }> {
    const request: Request = { ...made, process: kernel.current!, at: kernel.now, endedAt: undefined };
    const name = providerOf(made.once);
    requests.push(request);
    world.checks.asked(request);
    sends(request);
    let arrival: Promise<void> | undefined;
    const arrive = () => (arrival ??= world.checks.received(request));
    kernel.after(0, undefined, `${name} receives ${made.id}`, arrive);
    const act: Act<Published | { processingMs: number }> = (answer) => {
      if (answer === 'cut') throw failed('lost');
      if (answer === 'reauthorize') refused.add(made.channelId);
      if (answer === 'rate_limited') throw limit(request);
      if (answer === 'rejected' || answer === 'unavailable' || answer === 'reauthorize') throw failed(answer);
      const published = take(request);
      return answer === 'processing' ? { processingMs: 1_000 * random.between(1, 8) } : published;
    };
    try {
      return await exchange(`${name} ${made.kind}`, answers, act, arrive);
    } finally {
      request.endedAt = kernel.now;
    }
  }

  /** What the network shows of something: by its id, or, where it knows none of ours, what has its text. */
  const find = ({ once, kind, channelId, id, text, container }: Made) =>
    exchange(`${providerOf(once)} look-up`, ['unavailable', 'cut'], (answer) => {
      if (answer === 'unavailable') throw failed('unavailable');
      const shown = ledger.filter(({ request, shownAt }) => {
        if (request.kind !== kind || shownAt > kernel.now || request.channelId !== channelId) return false;
        if (once === 'read-back') return request.text === text;
        return once === 'two-phase' && kind === 'post' ? request.container === container : request.id === id;
      });
      return shown.map(publishedAs);
    });

  function adapterOf(once: OnceClass): SocialAdapter {
    const name = providerOf(once);
    const making = (kind: Request['kind'], of: (call: Call) => Pick<Made, 'id' | 'text' | 'container'>) => {
      const madeBy = (call: Call): Made => ({ once, kind, channelId: call.account, ...of(call) });
      const answers = ANSWERS.filter((answer) => answer !== 'processing' || (once === 'key' && kind === 'post'));
      const look = async (call: Call) => {
        const shown = await find(madeBy(call));
        return once === 'read-back' ? shown : shown[0];
      };
      return {
        once,
        find: once === 'at-most-once' ? undefined : look,
        send: (call: Call) => send(madeBy(call), answers),
      };
    };
    const { send: sendPost, ...posting } = making('post', ({ post, saved }) => ({ ...post, ...saved }));
    return social({
      ...IN_PROCESS,
      id: name,
      title: `Network ${once}`,
      timeoutMs: CALL_MS + 5_000,
      profile: ({ account }: Call) =>
        exchange(`${name} profile`, [], () => {
          if (refused.has(account)) throw failed('reauthorize');
          return { id: account, name: 'Channel', handle: '' };
        }),
      ...posting,
      async publish(call: Call) {
        if (once !== 'two-phase' || call.saved) return sendPost(call);
        const saved = await exchange(`${name} prepare`, ['unavailable', 'cut'], (answer) => {
          if (answer !== 'well') throw failed('unavailable');
          return { container: `c${++containers}` };
        });
        await call.save(saved);
        return sendPost({ ...call, saved });
      },
      // asked of the class `key`, which alone works on what it has taken
      poll: async (call: Call) => (await posting.find?.(call)) ?? { processingMs: 1_000 },
      /** Repeats a post that has likes, at one of three looks that lie close to each other. */
      plugs: [
        {
          kind: 'auto',
          act: 'repost',
          identifier: plugOf(name),
          title: 'Repost',
          description: 'Repeats a post that has likes.',
          runEveryMilliseconds: 10_000,
          totalRuns: 3,
          disabled: false,
          fields: [{ name: 'likesAmount', type: 'number', description: 'Likes', placeholder: '1' }],
        },
      ],
      metricsAtOnce: 100,
      metrics: ({ posts }: Call) =>
        exchange(`${name} counts`, ['unavailable'], (answer) => {
          if (answer === 'unavailable') throw failed('unavailable');
          return posts.map(({ id }) => ({ id, counts: { likes: LIKES } }));
        }),
      repost: making('repost', ({ repost: { id, published } }) => ({ id, text: published.id })),
      comment: making('comment', ({ post }) => post),
    } as never); // one literal for all classes
  }

  return {
    adapters: CLASSES.map(adapterOf),
    exchange,
    requests,
    answered,
    /** A post that some network has at this moment. */
    underWay: () => requests.findLast(({ endedAt, kind }) => endedAt === undefined && kind === 'post')?.id,
    findAll,
    limited,
    /** Its login is taken again. */
    accept: (channelId: string) => refused.delete(channelId),
  };
}
export type Networks = ReturnType<typeof openNetworks>;
