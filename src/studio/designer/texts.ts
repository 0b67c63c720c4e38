import { cleanContent } from '../../platform/content/index.ts';

/** Addresses and mentions in a text. */
const POINTERS = /\bhttps?:\/\/[^\s<>"']+|\bwww\.[^\s<>"']+|(?<![\p{L}\p{N}_./@])@[\p{L}\p{N}_][\p{L}\p{N}_.@-]*/giu;

/** Takes out of a text what points anywhere that nobody named; `named`: what people wrote. */
export function withoutForeign(text: string, named: string): { text: string; removed: string[] } {
  const removed: string[] = [];
  const kept = text.replace(POINTERS, (found) => {
    const pointer = found.replace(/[.,;:!?)\]]+$/, '');
    if (named.includes(pointer)) return found;
    removed.push(pointer);
    return '';
  });
  return { text: removed.length === 0 ? text : kept.replace(/[ \t]{2,}/g, ' ').trim(), removed };
}

const escaped = (text: string): string => text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;');

/** A plain text as the content of a post. */
export const contentOfText = (text: string): string =>
  cleanContent(
    text
      .trim()
      .split(/\n{2,}/)
      .map((paragraph) => `<p>${escaped(paragraph.trim()).replace(/\n/g, '<br>')}</p>`)
      .join(''),
  );
