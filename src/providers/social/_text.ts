import { contentToText } from '../../platform/content/index.ts';
import { contentToMarkdown, contentToMrkdwn, contentToSimpleHtml } from '../kit/protocols/written-text.ts';
import type { SocialAdapter, TextForm } from './_contract.ts';

/** A content as it goes to a network. */
export interface WrittenText {
  /** In the form of the network (`textForm`), with mentions as the adapter writes them. */
  text: string;
  /** Without markup, mentions by what they show. */
  plain: string;
  /** Counted against the limits: the text, or the plain one where its tags do not count. */
  counted: string;
}
/**
 * Writes a stored content for one network. `addresses` puts others, such as short ones, in the place of those in a
 * plain text: it is used for every text, and for every link behind a text.
 */
export type WriteContent = (content: string, addresses?: (text: string) => string) => WrittenText;
type Brand = Pick<SocialAdapter, 'editor' | 'textForm' | 'mention'>;

const WRITERS = { markdown: contentToMarkdown, html: contentToSimpleHtml, mrkdwn: contentToMrkdwn } as const;
const FORMS = { normal: 'plain', markdown: 'markdown', html: 'html' } as const;

/** The form of the text that an adapter is handed: the declared one, else that of its editor. */
export const textFormOf = ({ editor = 'normal', textForm = FORMS[editor] }: Brand): TextForm => textForm;

/** Answers how contents are written for a network. */
export function writerOf(adapter: Brand): WriteContent {
  const form = textFormOf(adapter);
  return (content, addresses = (text) => text) => {
    const plain = addresses(contentToText(content));
    const mention = hasMentions(content) ? adapter.mention : undefined;
    if (form === 'plain') {
      const text = mention ? addresses(contentToText(content, mention)) : plain;
      return { text, plain, counted: text };
    }
    const text = WRITERS[form](content, { mention, addresses });
    return { text, plain, counted: form === 'html' ? plain : text };
  };
}

/** Most contents have none: they are read once. */
const hasMentions = (content: string) => content.includes(' data-mention-id=') || content.includes(' data-id=');
