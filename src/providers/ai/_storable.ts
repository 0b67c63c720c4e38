import { storableJson } from '../../platform/content/index.ts';
import type { TextEvent } from './_contract.ts';

const FIRST_HALF = /[\ud800-\udbff]$/;

/**
 * An answer piece by piece as it can be stored and sent on. A sign that takes two (a surrogate pair) may be cut between
 * two pieces: its first half waits for the next one.
 */
export async function* storableEvents(events: AsyncIterable<TextEvent>): AsyncGenerator<TextEvent, void> {
  let held = '';
  for await (const event of events) {
    const isPiece = event.type === 'text';
    const text = held + (isPiece ? event.text.replaceAll('\0', '') : '');
    held = isPiece ? (FIRST_HALF.exec(text)?.[0] ?? '') : '';
    const piece = text.slice(0, text.length - held.length).toWellFormed();
    if (piece !== '') yield { type: 'text', text: piece };
    if (!isPiece) yield storableJson(event);
  }
}
