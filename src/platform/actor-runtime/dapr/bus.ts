import { AppError } from '../../kernel/index.ts';
import type { Bus } from '../bus.ts';
import type { RuntimeLog } from '../host.ts';
import type { Sidecar } from './sidecar.ts';
import { encode } from './wire.ts';

/** The component in `components/bus.yaml`. */
const COMPONENT = 'bus';
/** Where a message goes whose handler failed at every try of `dapr/resiliency.yaml`. */
const DEAD = 'dead';
const LANE = ' bus';
const BULK = 200;

type Verdict = { status: 'SUCCESS' | 'RETRY' | 'DROP' };
type Handler = (message: unknown) => Promise<void>;

/** What daprd asks of the app about topics. */
export interface Subscriptions {
  list(): readonly { pubsubname: string; topic: string; route: string; deadLetterTopic?: string }[];
  /** `body` is the cloud event; answers what becomes of the message. */
  deliver(topic: string, body: string): Promise<Verdict>;
  /**
   * Publishes the messages under way again, and each that comes from now on, for another host to handle; ends when none
   * is under way.
   */
  handOver(): Promise<void>;
}

/** What a message is refused for that no repetition mends. */
const isMalformed = (error: unknown) => error instanceof AppError && error.status === 400;

/**
 * Wake-ups through Dapr's publish/subscribe. A publish that fails is logged and forgotten: rows and scans carry every
 * guarantee.
 */
export function openDaprBus({ sidecar, log }: { sidecar: Sidecar; log: RuntimeLog }): Bus & Subscriptions {
  const handlers = new Map<string, Handler>();
  /** The messages under way: `leave` ends the wait for a handler, `over` comes once the message has its answer. */
  const underWay = new Set<{ leave(): void; over: Promise<void> }>();
  let isLeaving = false;

  /** Has a message handled, here or by another host. A handler left behind may end later: wake-ups may come twice. */
  async function handle(topic: string, handler: Handler, message: unknown): Promise<void> {
    const [left, over] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    if (isLeaving) left.resolve();
    const one = { leave: left.resolve, over: over.promise };
    underWay.add(one);
    try {
      const isHandled = await Promise.race([handler(message).then(() => true), left.promise.then(() => false)]);
      if (!isHandled) await publish(topic, [message]);
    } finally {
      underWay.delete(one);
      over.resolve();
    }
  }

  async function publishBulk(topic: string, messages: readonly unknown[]): Promise<void> {
    const body = encode(messages.map((event, n) => ({ entryId: String(n), event, contentType: 'application/json' })));
    const answer = await sidecar.ask(LANE, { method: 'POST', path: `/v1.0/publish/bulk/${COMPONENT}/${topic}`, body });
    if (answer.status >= 300) throw new Error(`daprd answered ${answer.status} ${answer.text.slice(0, 300)}`);
  }

  async function publish(topic: string, messages: readonly unknown[]): Promise<void> {
    for (let at = 0; at < messages.length; at += BULK) {
      const some = messages.slice(at, at + BULK);
      await publishBulk(topic, some).catch((error: unknown) =>
        log.warn({ topic, messages: some.length, err: error }, 'wake-ups were not published'),
      );
    }
  }

  return {
    publish,
    subscribe: (topic, handler) => void handlers.set(topic, handler),
    list: () => [
      ...[...handlers.keys()].map((topic) => ({
        pubsubname: COMPONENT,
        topic,
        route: `/events/${topic}`,
        deadLetterTopic: DEAD,
      })),
      ...(handlers.size > 0 && !handlers.has(DEAD)
        ? [{ pubsubname: COMPONENT, topic: DEAD, route: `/events/${DEAD}` }]
        : []),
    ],
    async deliver(topic, body) {
      let message: unknown;
      try {
        message = (JSON.parse(body) as { data?: unknown }).data;
      } catch (error) {
        log.error({ topic, err: error }, 'dropped a message that is no cloud event');
        return { status: 'DROP' };
      }
      const handler = handlers.get(topic);
      if (!handler) {
        if (topic === DEAD) log.error({ message }, 'a message was given up after all its tries');
        return { status: topic === DEAD ? 'SUCCESS' : 'DROP' };
      }
      try {
        await handle(topic, handler, message);
        return { status: 'SUCCESS' };
      } catch (error) {
        log[isMalformed(error) ? 'error' : 'warn'](
          { topic, err: error },
          isMalformed(error) ? 'dropped a message that its handler cannot read' : 'a message failed, to be tried again',
        );
        return { status: isMalformed(error) ? 'DROP' : 'RETRY' };
      }
    },
    async handOver() {
      isLeaving = true;
      const messages = [...underWay];
      for (const { leave } of messages) leave();
      await Promise.all(messages.map(({ over }) => over));
    },
  };
}
