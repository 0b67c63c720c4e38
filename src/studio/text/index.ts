export { TextWish } from './actions.ts';
export { allowedWords, type AllowedWords, draftContent, keepGivenWords, ownLinks } from './given-words.ts';
export {
  limitOfChannel,
  openTexts,
  type TextLimit,
  type Texts,
  type WritingEvent,
  type WrittenByModel,
} from './service.ts';
