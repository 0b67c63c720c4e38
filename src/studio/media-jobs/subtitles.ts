import type { Segment } from '../../providers/registry/index.ts';

const two = (n: number) => String(n).padStart(2, '0');

/** `01:02:03,450`, with a point in WebVTT. */
function clockOf(seconds: number, mark: ',' | '.'): string {
  const ms = Math.max(0, Math.round(seconds * 1_000));
  const whole = Math.floor(ms / 1_000);
  const rest = String(ms % 1_000).padStart(3, '0');
  return `${two(Math.floor(whole / 3_600))}:${two(Math.floor(whole / 60) % 60)}:${two(whole % 60)}${mark}${rest}`;
}

/** A cue is lines without an empty one among them, which would end it, and without the arrow, which would begin one. */
const linesOf = (text: string): string =>
  text
    .split(/\r\n|\r|\n/)
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .join('\n')
    .replaceAll('-->', '->');

/** Segments that say something, in their order, none ending before it begins. */
const cuesOf = (segments: readonly Segment[]) =>
  segments
    .map(({ from, to, text }) => ({ from, to: Math.max(from, to), text: linesOf(text) }))
    .filter(({ text }) => text !== '')
    .toSorted((a, b) => a.from - b.from);

/** SubRip. */
export const srtOf = (segments: readonly Segment[]): string =>
  cuesOf(segments)
    .map(({ from, to, text }, n) => `${n + 1}\n${clockOf(from, ',')} --> ${clockOf(to, ',')}\n${text}\n`)
    .join('\n');

/** WebVTT (W3C): text is escaped, as `<` and `&` have a meaning in it. */
export const vttOf = (segments: readonly Segment[]): string =>
  [
    'WEBVTT\n',
    ...cuesOf(segments).map(
      ({ from, to, text }) =>
        `${clockOf(from, '.')} --> ${clockOf(to, '.')}\n${text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')}\n`,
    ),
  ].join('\n');
