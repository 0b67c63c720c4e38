import { contentToText } from '../../platform/content/index.ts';
import { type Found, findLinks } from '../kit/protocols/text.ts';
import {
  contentToMarkdown,
  contentToMrkdwn,
  contentToSimpleHtml,
  shownBySimpleHtml,
} from '../kit/protocols/written-text.ts';
import type { SocialAdapter, TextForm } from './_contract.ts';

/** A content as it goes to a network. */
export interface WrittenText {
  /** In the form of the network (`textForm`), with mentions as the adapter writes them. */
  text: string;
  /** Without markup, mentions by what they show. */
  plain: string;
  /** Counted against the limits: the text, or what it shows where its tags do not count. */
  counted: string;
}
/**
 * Writes a stored content for one network. `addresses` puts others, such as short ones, in the place of those in a
 * plain text: it is used for every text, and for every link behind a text.
 */
export type WriteContent = (content: string, addresses?: (text: string) => string) => WrittenText;
type Brand = Pick<SocialAdapter, 'editor' | 'textForm' | 'mention' | 'spacesTags'>;

const WRITERS = { markdown: contentToMarkdown, html: contentToSimpleHtml, mrkdwn: contentToMrkdwn } as const;
const FORMS = { normal: 'plain', markdown: 'markdown', html: 'html' } as const;

/** The form of the text that an adapter is handed: the declared one, else that of its editor. */
export const textFormOf = ({ editor = 'normal', textForm = FORMS[editor] }: Brand): TextForm => textForm;

/** Answers how contents are written for a network; `withoutLinks`: no address in them goes out. */
export function writerOf(adapter: Brand, { withoutLinks = false } = {}): WriteContent {
  const form = textFormOf(adapter);
  const write = writing(adapter, form);
  return withoutLinks ? (content, addresses = same) => write(content, (text) => stripLinks(addresses(text))) : write;
}
const same = (text: string) => text;

/** Removes links, with the space or the brackets around them. */
const stripLinks = (text: string): string => [...findLinks(text)].reduceRight(withoutLink, text).trim();
function withoutLink(text: string, { start, end }: Found): string {
  const [before, after] = [text.slice(0, start), text.slice(end)];
  if (before.endsWith(' (') && after.startsWith(')')) return before.slice(0, -2) + after.slice(1);
  return before.replace(/[ \t]$/, '') + after;
}

function writing(adapter: Brand, form: TextForm): WriteContent {
  return (content, addresses = same) => {
    const plain = addresses(contentToText(content));
    const mention = hasMentions(content) ? adapter.mention : undefined;
    if (form === 'plain') {
      const whole = mention ? addresses(contentToText(content, mention)) : plain;
      const text = adapter.spacesTags ? whole.replace(/<(?=\S)/g, '< ') : whole;
      return { text, plain, counted: text };
    }
    const text = WRITERS[form](content, { mention, addresses });
    return { text, plain, counted: form === 'html' ? shownBySimpleHtml(text) : text };
  };
}

/** Most contents have none: they are read once. */
const hasMentions = (content: string) => content.includes(' data-mention-id=') || content.includes(' data-id=');
