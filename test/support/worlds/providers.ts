import { openOutbound } from '../../../src/platform/outbound/index.ts';
import { systemClock } from '../../../src/platform/kernel/index.ts';
import {
  openProviders,
  type Handle,
  type Held,
  type LookUp,
  type Media,
  type Polled,
  type Post,
  type Published,
  type ProvidersOptions,
  type Social,
} from '../../../src/providers/registry/index.ts';

/** Providers as the product opens them, allowed to call this machine; `await using` closes the connections. */
export function localProviders(more: Partial<ProvidersOptions> = {}) {
  const own = more.outbound ? undefined : openOutbound({ timeoutMs: 20_000, allowedPrivateCidrs: ['127.0.0.1/32'] });
  const outbound = more.outbound ?? own!;
  const providers = openProviders({ clock: systemClock, sandboxEnabled: true, ...more, outbound });
  return {
    ...providers,
    connect: (...call: Parameters<typeof providers.connect>) => publishing(providers.connect(...call)),
    /** The channel as adapters declare it: each step by itself. */
    connectSteps: providers.connect,
    outbound,
    [Symbol.asyncDispose]: async () => own?.[Symbol.asyncDispose](),
  };
}

export type PublishingChannel = ReturnType<typeof publishing>;
/** What is made here is visible at once. */
function visible(answer: Published | Held): Published {
  if ('held' in answer) throw new Error(answer.held);
  return answer;
}
/** A channel whose `publish` takes all its steps, as the product does: it ends when the post is out. */
const publishing = ({ comment, repost, ...channel }: Social) => ({
  ...channel,
  ...(comment && {
    comment: async (...call: Parameters<typeof comment>): Promise<Published> => visible(await comment(...call)),
  }),
  ...(repost && {
    repost: async (...call: Parameters<typeof repost>): Promise<Published> => visible(await repost(...call)),
  }),
  async publish(post: Post, settings: unknown, handle: Handle): Promise<Published> {
    const attempt: Handle = {
      ...handle,
      async save(saved) {
        await handle.save(saved);
        attempt.saved = saved;
      },
    };
    for (let step = await channel.prepare?.(post, settings, attempt); step !== undefined && step !== 'ready';) {
      await systemClock.sleep(step.againMs);
      step = await channel.prepare!(post, settings, attempt);
    }
    let answer: Polled | Held = await channel.publish(post, settings, attempt);
    while ('processingMs' in answer) {
      await systemClock.sleep(answer.processingMs);
      answer = await channel.poll!(post, settings, attempt);
    }
    if (!('id' in answer)) throw new Error(`The post was not published: ${JSON.stringify(answer)}`);
    return answer;
  },
});

/** The ids of the releases that a look-up of the adapter shows. */
export async function lookUp(
  channel: Social,
  post: Post,
  attempt: Partial<LookUp> & Pick<LookUp, 'since'>,
): Promise<string[]> {
  const found = await channel.find!(post, {}, { saved: undefined, thread: [], ...attempt });
  if (found === undefined) return [];
  return ('id' in found ? [found] : found).map(({ id }) => id);
}

let made = 0;
/** A post with its own id. */
export const postOf = (text: string, media: readonly Media[] = []): Post => ({
  id: `post-${(made += 1)}-${process.pid}`,
  text,
  plain: text,
  media,
});

/** A handle that remembers what the adapter saved. */
export function handleOf(saved?: unknown, thread: Handle['thread'] = []): Handle & { kept: unknown[] } {
  const kept: unknown[] = [];
  return { saved, thread, kept, save: async (handle) => void kept.push(handle) };
}
