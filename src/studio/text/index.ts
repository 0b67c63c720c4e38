export { TextWish } from './actions.ts';
export { fenceData } from './fences.ts';
export {
  allowedWords,
  type AllowedWords,
  draftContent,
  keepGivenWords,
  ownLinks,
  unknownNumbers,
} from './given-words.ts';
export { limitOfChannel, type TextLimit } from './limits.ts';
export { openTexts, type Texts, type WritingEvent } from './service.ts';
export type { WrittenByModel } from './written.ts';
