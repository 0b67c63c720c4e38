import { z } from 'zod';
import { ProviderError, systemClock } from '../../../../src/platform/kernel/index.ts';
import type { Connected } from '../../../../src/publishing/posts/channels-port.ts';
import type {
  Handle,
  LookUp,
  Polled,
  Post,
  Prepared,
  Published,
  SocialAdapter,
  Step,
} from '../../../../src/providers/registry/index.ts';
import { social } from '../../../../src/providers/social/_contract.ts';

export interface SentPost {
  at: number;
  channelId: string;
  postId: string;
  text: string;
  plain: string;
  /** Files that settings name. */
  files: Post['files'];
  settings: unknown;
  handle: Handle;
  /** Waits by the clock of the connection: no longer than somebody waits for the call. */
  wait: (ms: number) => Promise<void>;
}
type Once = Connected['once'];
const DECLARED = [
  'editor',
  'textForm',
  'mention',
  'limits',
  'threads',
  'comment',
  'repost',
  'metrics',
  'metricsAtOnce',
  'channelMetrics',
  'comments',
  'commentReads',
  'hide',
  'plugs',
  'settings',
  'pace',
  'fileSettings',
  'prepareReply',
] as const;
type Declared = Partial<Pick<SocialAdapter, (typeof DECLARED)[number]>>;

/**
 * A network in the process of the test: what it is told to do, and a ledger of what it was asked and what it took. The
 * product calls it through an adapter that is registered beside its own.
 */
export function openNetwork() {
  const asked: SentPost[] = [];
  const taken: { channelId: string; postId: string; text: string }[] = [];
  const inFlight = new Map<string, number>();
  const network = {
    asked,
    taken,
    /** The greatest number of calls that one channel had under way. */
    mostAtOnce: 0,
    once: 'read-back' as Once,
    settlesWithinMs: undefined as number | undefined,
    latencyMs: 0,
    looks: 0,
    /** What a publish does instead of taking the post; `accept` takes it. */
    behave: undefined as
      | ((
          post: Post,
          sent: SentPost,
          accept: () => Published,
        ) => Promise<Published | { processingMs: number } | { held: string }>)
      | undefined,
    /** What comes before a publish, and what is answered of a post that is worked on. */
    prepare: undefined as ((post: Post, step: Step) => Promise<Prepared>) | undefined,
    poll: undefined as ((post: Post, saved: unknown) => Promise<Polled>) | undefined,
    processesWithinMs: undefined as number | undefined,
    /** What its adapter declares otherwise. */
    declares: {} as Declared,
    find: undefined as
      | ((post: Post, attempt: LookUp) => Promise<Published | readonly Published[] | undefined>)
      | undefined,
  };
  /** The account that a channel is connected with is the id of the channel. */
  async function publish(channelId: string, one: Post, settings: unknown, handle: Handle, wait: SentPost['wait']) {
    const now = (inFlight.get(channelId) ?? 0) + 1;
    inFlight.set(channelId, now);
    network.mostAtOnce = Math.max(network.mostAtOnce, now);
    const sent = {
      at: Date.now(),
      channelId,
      postId: one.id,
      text: one.text,
      plain: one.plain,
      files: one.files,
      settings,
      handle,
      wait,
    };
    asked.push(sent);
    const accept = (): Published => {
      taken.push({ channelId, postId: one.id, text: one.text });
      return { id: `r-${one.id}`, url: `https://fake.example/${one.id}`, saved: { n: taken.length } };
    };
    try {
      if (network.latencyMs > 0) await systemClock.sleep(network.latencyMs);
      return network.behave ? await network.behave(one, sent, accept) : accept();
    } finally {
      inFlight.set(channelId, inFlight.get(channelId)! - 1);
    }
  }
  async function find(one: Post, attempt: LookUp) {
    network.looks += 1;
    if (network.find) return network.find(one, attempt);
    return taken.some(({ postId }) => postId === one.id)
      ? { id: `r-${one.id}`, url: `https://fake.example/${one.id}` }
      : undefined;
  }
  return Object.assign(network, { adapter: adapterOf(network, publish, find) });
}
export type Network = ReturnType<typeof openNetwork>;

interface NetworkRules {
  once: Once;
  settlesWithinMs: number | undefined;
  prepare: ((post: Post, step: Step) => Promise<Prepared>) | undefined;
  poll: ((post: Post, saved: unknown) => Promise<Polled>) | undefined;
  processesWithinMs: number | undefined;
  declares: Declared;
}

/** What each network declares that is in the process of a test. */
export const IN_PROCESS = {
  version: 'v1',
  description: 'A network in the process of a test.',
  status: 'active',
  authType: 'none',
  threads: 'reply',
  credentials: { server: { label: 'Server', required: false, secret: false } },
  api: 'https://fake.example',
  login: { kind: 'credentials' },
  limits: { text: 100, unit: 'characters', media: 4, mediaTypes: ['image/*'] },
  settings: z.looseObject({}),
} as const;

/** Declared as the network says at the moment: tests change its class and its times while the product runs. */
function adapterOf(
  network: Readonly<NetworkRules>,
  publish: (
    channelId: string,
    post: Post,
    settings: unknown,
    handle: Handle,
    wait: SentPost['wait'],
  ) => Promise<Published | { processingMs: number } | { held: string }>,
  find: (post: Post, attempt: LookUp) => Promise<Published | readonly Published[] | undefined>,
): SocialAdapter {
  /** Without a `poll` of the test, a post that was taken is out. */
  const found = async (post: Post): Promise<Polled> => {
    const shown = await find(post, { since: new Date(0), saved: undefined, thread: [] });
    return shown !== undefined && 'id' in shown ? shown : { processingMs: 1_000 };
  };
  const declared = () =>
    social({
      ...IN_PROCESS,
      id: 'fake',
      title: 'Fake',
      timeoutMs: 1_000,
      // asked only when a login was refused
      profile: () => Promise.reject(new ProviderError('reauthorize', 'The login was refused')),
      ...(network.prepare && {
        prepare: ({ post, saved, save, isLater }) => network.prepare!(post, { saved, save, isLater }),
      }),
      publish: ({ account, post, settings, saved, save, thread, clock }) =>
        publish(account, post, settings, { saved, save, thread }, (ms) => clock.sleep(ms)),
      poll: ({ post, saved }) => (network.poll ? network.poll(post, saved) : found(post)),
      ...(network.once === 'at-most-once'
        ? { once: network.once }
        : { once: network.once, find: ({ post, since, saved, thread }) => find(post, { since, saved, thread }) }),
      ...network.declares,
    });
  return Object.defineProperties(declared(), {
    ...Object.fromEntries(DECLARED.map((name) => [name, { get: () => declared()[name] }])),
    once: { get: () => network.once },
    capabilities: { get: () => declared().capabilities },
    settlesWithinMs: { get: () => network.settlesWithinMs },
    processesWithinMs: { get: () => network.processesWithinMs },
    connect: { value: (connection: Parameters<SocialAdapter['connect']>[0]) => declared().connect(connection) },
  });
}
