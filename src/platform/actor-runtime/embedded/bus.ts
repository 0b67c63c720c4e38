import type { Clock } from '../../kernel/index.ts';
import type { Bus } from '../bus.ts';
import type { RuntimeLog } from '../host.ts';
import { Fifo } from '../../flow/index.ts';

const WAITING = 10_000;
const AT_WORK = 10;
const TRIES = 6;
const AGAIN_MS = 2_000;

interface Topic {
  handler: (message: unknown) => Promise<void>;
  queue: Fifo<unknown>;
  working: Set<Promise<void>>;
}
interface Options {
  clock: Clock;
  log: RuntimeLog;
  /** Between two tries of a message. */ againMs?: number;
}

/**
 * The bus of one process: messages in memory, bounded; a failing handler is tried six times. Messages beyond the bound
 * are dropped, as wake-ups may be. Disposing it waits for the handlers that run.
 */
export function openEmbeddedBus({ clock, log, againMs = AGAIN_MS }: Options): Bus & AsyncDisposable {
  const topics = new Map<string, Topic>();
  const ended = new AbortController();

  async function deliver(name: string, { handler }: Topic, message: unknown): Promise<void> {
    for (let n = 1; !ended.signal.aborted; n++) {
      try {
        return await handler(message);
      } catch (error) {
        log.warn({ err: error, topic: name, try: n }, 'a message could not be handled, to be tried a few times');
        if (n === TRIES) return;
      }
      await clock.sleep(againMs, ended.signal).catch(() => {});
    }
  }

  function pump(name: string, topic: Topic): void {
    while (topic.working.size < AT_WORK && topic.queue.length > 0 && !ended.signal.aborted) {
      const work = deliver(name, topic, topic.queue.shift()).finally(() => {
        topic.working.delete(work);
        pump(name, topic);
      });
      topic.working.add(work);
    }
  }

  return {
    async publish(name, messages) {
      const topic = topics.get(name);
      if (!topic) return;
      const room = Math.min(messages.length, WAITING - topic.queue.length);
      for (const message of messages.slice(0, room)) topic.queue.push(JSON.parse(JSON.stringify(message)));
      if (room < messages.length)
        log.warn(
          { topic: name, dropped: messages.length - room },
          'too many messages wait: some wake-ups were dropped',
        );
      setImmediate(() => pump(name, topic));
    },
    subscribe(name, handler) {
      if (topics.has(name)) throw new Error(`The topic ${name} has a handler already`);
      topics.set(name, { handler, queue: new Fifo(), working: new Set() });
    },
    async [Symbol.asyncDispose]() {
      ended.abort();
      await Promise.allSettled([...topics.values()].flatMap(({ working }) => [...working]));
    },
  };
}
