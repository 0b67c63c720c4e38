import { contentToText } from '../../platform/content/index.ts';
import { AppError, bind, invalidField, isId } from '../../platform/kernel/index.ts';
import type { MediaRoom } from '../../library/media/index.ts';
import type { AiPart } from '../../providers/registry/index.ts';
import type { Channels } from '../../publishing/channels/index.ts';
import { type AiCandidate, providerFailureOf, firstAnswer, type Models } from '../models/index.ts';
import { hashtagsOf, INSTRUCTIONS, mostTokens, purposeOf, type TextWish } from './actions.ts';
import { fenceData } from './fences.ts';
import { limitOfChannel, type TextLimit } from './limits.ts';
import { answered, type Asker, type PaidCallDeps, type Prompt, streamed } from './paid-call.ts';
import { sumUp } from './summary.ts';
import { unfit, type WrittenByModel, writtenBy } from './written.ts';

/** What the room is opened with. */
export interface TextDeps extends PaidCallDeps {
  models: Pick<Models, 'resolveAi'>;
  channels: Pick<Channels, 'find' | 'rules'>;
  media: Pick<MediaRoom, 'get' | 'load'>;
}

export type WritingEvent = { type: 'text'; text: string } | ({ type: 'done' } & WrittenByModel);

/** What is to be asked, and how the answer is judged. */
interface Task {
  wish: TextWish;
  limit: TextLimit | undefined;
  picture: AiPart[];
}

/**
 * Writes a text by a language model.
 *
 * @throws AppError 400 where no provider can do it, 402 where the budget is used up, 502 with `provider` where it fails
 */
async function writeText(
  deps: TextDeps,
  asker: Asker,
  wish: TextWish,
  signal: AbortSignal = new AbortController().signal,
): Promise<WrittenByModel> {
  const { task, candidates } = await prepare(deps, asker, wish, signal);
  return firstAnswer(candidates, (candidate) => writeBy(deps, asker, task, candidate, signal));
}

/**
 * The same piece by piece. An answer that has to be checked as a whole, for the length of a channel or for hashtags,
 * comes as one piece.
 */
async function* streamText(
  deps: TextDeps,
  asker: Asker,
  wish: TextWish,
  signal: AbortSignal,
): AsyncGenerator<WritingEvent> {
  const { task, candidates } = await prepare(deps, asker, wish, signal);
  if (task.limit || wish.action === 'hashtags') {
    const written = await firstAnswer(candidates, (candidate) => writeBy(deps, asker, task, candidate, signal));
    yield { type: 'text', text: written.content };
    yield { type: 'done', ...written };
    return;
  }
  const { adapter, events } = await firstAnswer(candidates, async (candidate) => ({
    adapter: candidate.adapter,
    events: await streamed(deps, asker, candidate, promptOf(task, contentOf(wish)), signal),
  }));
  try {
    for await (const event of events)
      yield event.type === 'text' ? event : { type: 'done', ...writtenBy(adapter, event, event.text) };
  } catch (error) {
    throw providerFailureOf(error, adapter);
  }
}

async function prepare(deps: TextDeps, { orgId }: Asker, wish: TextWish, signal: AbortSignal) {
  const { providerId, model } = wish;
  if (contentOf(wish) === '') throw invalidField('content', 'has no text', 'required');
  const candidates = await deps.models.resolveAi(orgId, { purpose: purposeOf(wish), providerId, model });
  const channelId = wish.action === 'shorten' ? wish.integrationId : undefined;
  const task: Task = {
    wish,
    limit: channelId === undefined ? undefined : await limitOfChannel(deps, orgId, channelId),
    picture: wish.action === 'alt_text' ? [await pictureOf(deps, orgId, wish.fileId, signal)] : [],
  };
  return { task, candidates };
}

const contentOf = ({ content }: TextWish): string | undefined => content && contentToText(content);

/** `share`: of the limit, what the model is told: they count badly. */
function promptOf({ wish, limit, picture }: Task, content: string | undefined, share = 1): Prompt {
  const { action } = wish;
  const { rule, text } = fenceData({
    content,
    ...(action === 'rewrite' && { tone: wish.tone, instructions: wish.instructions }),
    ...((action === 'translate' || action === 'alt_text') && { language: wish.language }),
    ...(limit && { limit: limit.words(share) }),
  });
  return {
    instruction: `${INSTRUCTIONS[action]}\n\n${rule}`,
    turns: [{ role: 'user', parts: [{ type: 'text', text }, ...picture] }],
    maxTokens: mostTokens(wish),
  };
}

const SECOND_SHARE = 0.8;
/** One answer of one provider; one that is too long for its channel is asked for again, once. */
async function writeBy(
  deps: TextDeps,
  asker: Asker,
  task: Task,
  candidate: AiCandidate,
  signal: AbortSignal,
): Promise<WrittenByModel> {
  const ask = async (content: string | undefined, share?: number) => {
    const answer = await answered(deps, asker, candidate, promptOf(task, content, share), signal);
    return writtenBy(candidate.adapter, answer, answer.text);
  };
  const first = await ask(contentOf(task.wish));
  if (task.wish.action === 'hashtags') {
    const hashtags = hashtagsOf(first.content);
    if (hashtags.length === 0) throw unfit(candidate.adapter, 'answered without a hashtag');
    return { ...first, content: hashtags.join(' '), hashtags };
  }
  const { limit } = task;
  if (limit?.faultOf(first.content) === undefined) return first;
  const second = await ask(first.content, SECOND_SHARE);
  const fault = limit.faultOf(second.content);
  if (fault !== undefined) throw unfit(candidate.adapter, `was asked twice, and still ${fault}`);
  return second;
}

/** A size that every provider of vision takes. */
const PICTURE = { types: ['image/jpeg', 'image/png', 'image/webp'], maxBytes: 3_500_000, maxPixels: 4_000_000 };
/** What is read of the library for a model: pictures, whatever else a post could have. */
const FOR_MODELS = { text: 0, unit: 'characters', media: 1, needsMedia: true, mediaTypes: ['image/*'] } as const;

/** A picture of the library in a size that models take. */
async function pictureOf(
  { media }: Pick<TextDeps, 'media'>,
  orgId: string,
  id: string,
  signal: AbortSignal,
): Promise<AiPart> {
  const file = isId(id) ? await media.get(orgId, id).catch(unknownFile) : unknownFile();
  if (file.kind !== 'image') throw invalidField('fileId', 'this file is no picture', 'unsupported');
  const [loaded] = await media.load(orgId, [{ id, path: file.path, alt: '' }], { signal, limits: FOR_MODELS });
  const picture = await loaded!.fit(PICTURE);
  if (!picture) throw invalidField('fileId', 'this picture cannot be read', 'unsupported');
  const bytes: Uint8Array[] = [];
  for await (const piece of picture.open()) bytes.push(piece);
  return { type: 'image', mediaType: picture.contentType, bytes: Buffer.concat(bytes) };
}
function unknownFile(error?: unknown): never {
  if (error instanceof AppError ? error.code !== 'not_found' : error !== undefined) throw error;
  throw invalidField('fileId', 'there is no such file', 'unknown_id');
}

export type Texts = ReturnType<typeof openTexts>;

/** Opens what language models do to the texts of people. */
export const openTexts = (deps: TextDeps) => bind(deps, { write: writeText, stream: streamText, sumUp });
