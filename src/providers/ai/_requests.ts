import { invalidField } from '../../platform/kernel/index.ts';
import type { AiAdapter, AiKind, EmbedRequest, TextRequest } from './_contract.ts';

/** Signs that model ids have; an id becomes a part of an address with some protocols. */
const MODEL = /^[\w@~][\w.:@/+~-]{0,199}$/;
const PICTURES = ['image/png', 'image/jpeg', 'image/webp', 'image/gif'];
const PICTURE_BYTES = 20 * 1024 * 1024;
const MOST_PICTURES = 20;
const MOST_CHARACTERS = 2_000_000;
const MOST_TOKENS = 1_000_000;
const MOST_VALUES = 2_048;
/** Hardly a text has more characters to a token. */
const CHARACTERS_A_TOKEN = 12;

type Known = Pick<AiAdapter, 'title' | 'models'>;

function checkModel({ title, models }: Known, id: string, kinds: readonly AiKind[]): void {
  if (!MODEL.test(id) || id.split('/').includes('..')) throw invalidField('model', 'is no id of a model');
  const known = models.find((model) => model.id === id);
  const missing = known && kinds.find((kind) => !known.kinds.includes(kind));
  if (missing) throw invalidField('model', `${id} of ${title} has no ${missing}`, 'not_supported');
}

function checkLength({ models }: Known, id: string, text: string, field: string): void {
  const context = models.find((model) => model.id === id)?.context ?? Infinity;
  const most = Math.min(MOST_CHARACTERS, context * CHARACTERS_A_TOKEN);
  if (text.length > most) throw invalidField(field, `has more than ${most} characters`, 'too_big');
}

/** Checks a question before it is paid for. @throws AppError `validation_failed` with the path of the fault */
export function checkQuestion(known: Known, { model, instruction = '', turns, maxTokens }: TextRequest): void {
  const pictures = turns.flatMap(({ parts }, turn) =>
    parts.flatMap((part, at) => (part.type === 'image' ? [{ part, field: `turns.${turn}.parts.${at}` }] : [])),
  );
  checkModel(known, model, pictures.length > 0 ? ['text', 'vision'] : ['text']);
  const text = turns.flatMap(({ parts }) => parts.map((part) => (part.type === 'text' ? part.text : ''))).join('\n');
  if (text.trim() === '' && pictures.length === 0) throw invalidField('turns', 'say nothing', 'too_small');
  if (turns.at(-1)?.role !== 'user') throw invalidField('turns', 'the last one must be of the user');
  checkLength(known, model, instruction + text, 'turns');
  if (!Number.isInteger(maxTokens) || maxTokens < 1 || maxTokens > MOST_TOKENS)
    throw invalidField('maxTokens', `must be a whole number from 1 to ${MOST_TOKENS}`);
  if (pictures.length > MOST_PICTURES)
    throw invalidField('turns', `hold more than ${MOST_PICTURES} pictures`, 'too_big');
  for (const { part, field } of pictures) {
    if (!PICTURES.includes(part.mediaType)) throw invalidField(field, `is none of ${PICTURES.join(', ')}`);
    if (part.bytes.length === 0 || part.bytes.length > PICTURE_BYTES)
      throw invalidField(field, `must have 1 to ${PICTURE_BYTES} bytes`, 'too_big');
  }
}

/** Checks texts before they are embedded. @throws AppError `validation_failed` with the path of the fault */
export function checkEmbedding(known: Known, { model, values }: EmbedRequest): void {
  checkModel(known, model, ['embedding']);
  if (values.length === 0 || values.length > MOST_VALUES)
    throw invalidField('values', `must be 1 to ${MOST_VALUES} texts`);
  for (const [at, value] of values.entries()) {
    if (value.trim() === '') throw invalidField(`values.${at}`, 'says nothing', 'too_small');
    checkLength(known, model, value, `values.${at}`);
  }
}
