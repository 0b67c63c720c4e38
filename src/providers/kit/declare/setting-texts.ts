import { z } from 'zod';

// The texts that settings of a post are made of. Each says which characters it takes, so that what a network could not
// take, or would read as something else, is refused with its field when the post is made.

/** All characters but control characters (tabs are taken), line ends, and halves of signs that take two (surrogates). */
// oxlint-disable-next-line no-control-regex -- those are what it is about
export const SINGLE_LINE = /^[^\u0000-\u0008\u000a-\u001f\u007f-\u009f\u2028\u2029\ud800-\udfff]*$/u;
/** The same, and line ends. */
// oxlint-disable-next-line no-control-regex -- those are what it is about
export const MULTI_LINE = /^[^\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\ud800-\udfff]*$/u;
/** No tabs either: the parser of addresses would drop them, and line ends, without a word. */
// oxlint-disable-next-line no-control-regex -- those are what it is about
export const WEB_ADDRESS = /^[^\u0000-\u001f\u007f-\u009f\u2028\u2029\ud800-\udfff]*$/u;

const LINE_WORDS = 'must be one line without control characters';

/** A title, a name or a tag: one line of any script. */
export const singleLine = (most: number, least?: number): z.ZodString =>
  (least === undefined ? z.string() : z.string().min(least)).max(most).regex(SINGLE_LINE, LINE_WORDS);
/** The same without the blanks around it, which do not count. */
export const trimmedLine = (most: number, least = 1): z.ZodString =>
  z.string().trim().min(least).max(most).regex(SINGLE_LINE, LINE_WORDS);
/** A text of several lines, such as terms or a warning. */
export const multiLine = (most: number): z.ZodString =>
  z.string().max(most).regex(MULTI_LINE, 'must have no control characters');
/** An address as people paste it, with or without blanks around it. */
export const webAddress = (most = 4_096, protocol = /^https?$/): z.ZodString =>
  z
    .string()
    .trim()
    .max(most)
    .regex(WEB_ADDRESS, 'must be an address without control characters')
    .check(z.url({ protocol }));
/** An id that a network has issued and whose form its documents do not tell. No dots: it may become part of a path. */
export const networkId = (most: number, least = 1): z.ZodString =>
  z
    .string()
    .min(least)
    .max(most)
    .regex(/^[\w:-]*$/, 'must be an id of the network: letters, digits, and the signs _ : -');
