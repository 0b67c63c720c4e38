import { z } from 'zod';
import { whenFailed } from '../kit/declare/fallback.ts';
import type { AiLine, AiModel } from './_contract.ts';
import { listedModels } from './_models.ts';

/**
 * How a key is proven: `models`: the list of models needs it; `list`: that list is public, and proves nothing; `ask`: the
 * cheapest question, to this model; `read`: a free call that needs it, which tells at a place what is left to spend; a
 * function of its own.
 */
export type KeyProof =
  | 'models'
  | 'list'
  | { ask: string }
  | { read: string; left: string }
  | ((line: AiLine) => Promise<string>);

interface Chat {
  /** There is one where the list is the proof. */
  listModels: ((line: AiLine) => Promise<readonly AiModel[]>) | undefined;
  /** The field for the greatest number of tokens. */
  lengthField: string;
}
const accepted = 'The key is accepted';

/** Makes the check of a key at a brand of the chat protocol. */
export function keyProof(how: KeyProof, { listModels, lengthField }: Chat): (line: AiLine) => Promise<string> {
  if (typeof how === 'function') return how;
  if (how === 'models') return async (line) => `${accepted}: it can use ${(await listModels!(line)).length} models`;
  if (how === 'list')
    return async (line) => {
      await listModels!(line);
      return 'The server answers; the key was not proven, since nothing free needs it';
    };
  return 'ask' in how ? (line) => askOnce(line, { model: how.ask, lengthField }) : (line) => readOnce(line, how);
}

const Answered = z.object({ choices: z.array(z.unknown()).min(1) });
const TINY = { messages: [{ role: 'user', content: 'Hi' }] };
interface Question {
  model: string;
  lengthField: string;
  /** Tokens of the answer; models that think first refuse less than they need. Default: 1. */
  most?: number;
  headers?: Readonly<Record<string, string>>;
}
/** Asks the shortest question. */
export async function askOnce(
  { http }: AiLine,
  { model, lengthField, most = 1, headers = {} }: Question,
): Promise<string> {
  const json = { model, ...TINY, [lengthField]: most };
  await http.post('/chat/completions', Answered, { json, headers, creates: true });
  return accepted;
}

/** Reads what is left to spend; null where nothing bounds it. */
async function readOnce({ http }: AiLine, { read, left: place }: { read: string; left: string }): Promise<string> {
  const Left = z
    .unknown()
    .transform((body) => place.split('.').reduce<unknown>((at, name) => Object(at)[name], body))
    .pipe(z.union([z.string().max(40), z.number()]).nullable());
  const left = await http.get(read, Left);
  return left === null ? accepted : `${accepted}; what is left: ${left}`;
}

/** Proves the key of a provider whose restricted keys may ask questions and not list models. */
export const modelsOrQuestion =
  (model: string, lengthField: string) =>
  (line: AiLine): Promise<string> =>
    whenFailed(
      'reauthorize',
      async () => `${accepted}: it can use ${(await listedModels('/models')(line)).length} models`,
      () => askOnce(line, { model, lengthField, most: 16 }),
    );
