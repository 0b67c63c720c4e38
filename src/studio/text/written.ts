import { AppError } from '../../platform/kernel/index.ts';
import type { TextAnswer } from '../../providers/registry/index.ts';
import type { AiCandidate } from '../models/index.ts';

/** A text, and who wrote it. */
export interface WrittenByModel {
  content: string;
  /** Of the action `hashtags`. */
  hashtags?: string[];
  providerId: string;
  model: string;
}
const ENDS = {
  length: 'ended its answer before it was whole: the text is too long for this model',
  filter: 'ended its answer before it was whole: its filter refused the rest',
} as const;

/** A whole answer as it is shown; a part of one is a failure, never a shorter text. */
export function writtenBy(adapter: AiCandidate['adapter'], { end, model }: TextAnswer, text: string): WrittenByModel {
  if (end === 'length' || end === 'filter') throw unfit(adapter, ENDS[end]);
  const content = text.trim();
  if (content === '') throw unfit(adapter, 'answered nothing');
  return { content, providerId: adapter.id, model };
}

export const unfit = ({ id, title }: AiCandidate['adapter'], what: string): AppError =>
  new AppError('provider_failed', `${title} ${what}`, { failure: 'rejected', provider: id });
