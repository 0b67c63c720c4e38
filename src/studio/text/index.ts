export { TextWish } from './actions.ts';
export { openTexts, type Texts, type WritingEvent, type WrittenByModel } from './service.ts';
