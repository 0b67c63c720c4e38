import { outsideText } from '../../platform/content/index.ts';

/** Something that a page says, with the words in which it says it. */
export interface PageFact {
  fact: string;
  quote: string;
}

const SHORTEST_QUOTE = 12;
const LONGEST_QUOTE = 400;
const LONGEST_FACT = 300;
const MOST_FACTS = 40;

/** A text as it is compared: models change case, white space and the form of quotation marks and dashes. */
const comparable = (text: string): string =>
  text
    .normalize('NFKC')
    .replace(/[‘’‚‛]/g, "'")
    .replace(/[“”„‟«»]/g, '"')
    .replace(/[‐-―]/g, '-')
    .replace(/\s+/g, ' ')
    .trim()
    .toLowerCase();

/** The facts whose quotes stand in the page, each quote once; every other is dropped. */
export function literalFacts(facts: readonly PageFact[], page: string): PageFact[] {
  const text = comparable(page);
  const seen = new Set<string>();
  return facts
    .filter(({ fact, quote }) => {
      const words = comparable(quote);
      const isKept =
        fact.trim() !== '' &&
        words.length >= SHORTEST_QUOTE &&
        words.length <= LONGEST_QUOTE &&
        !seen.has(words) &&
        text.includes(words);
      if (isKept) seen.add(words);
      return isKept;
    })
    .slice(0, MOST_FACTS)
    .map(({ fact, quote }) => ({ fact: outsideText(fact, LONGEST_FACT), quote: quote.trim() }));
}
