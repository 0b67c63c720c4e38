export { TextWish } from './actions.ts';
export {
  limitOfChannel,
  openTexts,
  type TextLimit,
  type Texts,
  type WritingEvent,
  type WrittenByModel,
} from './service.ts';
