import { z } from 'zod';
import { startChatServer } from '../../peers/chat-server.ts';
import { type ActivationCodes, signUpAt } from '../client.ts';

// A provider of language models, and an organization that spends money there.

/** Before anything breaks, and as many while it does. */
const TEXTS = 3;
/** Millionths of a dollar for each token of an answer. */
const PRICES = { 'gpt-5.4-mini': { output: 1 } };

export async function startTexts() {
  const chat = await startChatServer();
  let ask: (content: string) => Promise<unknown> = async () => undefined;
  let underWay: Promise<unknown> = Promise.resolve();
  const askAll = (say: string) => Promise.allSettled(Array.from({ length: TEXTS }, (_, n) => ask(`${say} ${n}`)));
  return {
    url: chat.url,
    /** Signs up who spends. `registered`: gives a plan. */
    async open(url: string, registered: (email: string) => Promise<void>, codeTo: ActivationCodes): Promise<void> {
      const { own } = await signUpAt(url, 'Writes', registered, codeTo);
      await own('/providers/settings', z.object({ id: z.string() }), {
        body: {
          domain: 'ai',
          providerId: 'openai',
          credentials: { apiKey: 'key' },
          options: { prices: JSON.stringify(PRICES) },
        },
      });
      ask = (content) => own('/ai/text', z.object({ content: z.string() }), { body: { action: 'rewrite', content } });
      for (const { status } of await askAll('Before'))
        if (status === 'rejected') throw new Error('No text was written before anything broke');
    },
    /** Asks for texts; some may fail, and are not asked for again. */
    begin(): void {
      underWay = askAll('Meanwhile');
    },
    async end(): Promise<void> {
      await underWay;
    },
    [Symbol.asyncDispose]: () => chat[Symbol.asyncDispose](),
  };
}
