import type { AiCalls, AiModel, AiSpec, TextAnswer, TextRequest } from '../../../../src/providers/ai/_contract.ts';
import { ai } from '../../../../src/providers/ai/_contract.ts';
import { secret } from '../../../../src/providers/kit/declare/fields.ts';

type Reply = (request: TextRequest, signal: AbortSignal | undefined) => Promise<TextAnswer> | TextAnswer;

/** An answer of a hundred tokens. */
export const said = (text: string, more: Partial<TextAnswer> = {}): TextAnswer => ({
  text,
  end: 'stop',
  model: 'a-model',
  usage: { inputTokens: 50, outputTokens: 50 },
  ...more,
});

/**
 * A provider of language models whose answers a test writes: `reply` is asked for each. A stream gives the words of the
 * answer one by one, and waits for `pause` before each but the first.
 */
export function scriptedAi(
  id: string,
  {
    models = [{ id: `${id}-1`, kinds: ['text', 'vision'] }],
    ...more
  }: Partial<Pick<AiSpec<never>, 'listModels'>> & { models?: readonly AiModel[] } = {},
) {
  const script = {
    asked: [] as TextRequest[],
    reply: ((request) => said(`By ${request.model}`)) as Reply,
    pause: (() => Promise.resolve()) as (signal: AbortSignal | undefined) => Promise<void>,
  };
  const text: AiCalls['text'] = async (request, signal) => {
    script.asked.push(request);
    return script.reply(request, signal);
  };
  const calls: AiCalls = {
    text,
    async *stream(request, signal) {
      const answer = await text(request, signal);
      for (const [n, word] of (answer.text.match(/\S+\s*/g) ?? []).entries()) {
        if (n > 0) await script.pause(signal);
        yield { type: 'text', text: word };
      }
      yield { type: 'done', ...answer };
    },
    object: () => Promise.reject(new Error('no test asks for objects')),
  };
  const adapter = ai({
    id,
    version: 'v1',
    title: id[0]!.toUpperCase() + id.slice(1),
    description: 'A provider of tests.',
    status: 'active',
    kind: 'direct',
    authType: 'api_key',
    credentials: { apiKey: secret('API key') },
    api: `https://${id}.example`,
    models,
    connect: () => calls,
    ...more,
  });
  return Object.assign(script, { adapter });
}
