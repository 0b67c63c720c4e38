import { contentToText } from '../../platform/content/index.ts';
import type { Fact } from '../../platform/outbox/index.ts';
import { isMetric, METRICS } from '../../providers/registry/index.ts';

const LONGEST = 300;
/** The first words of a content, on one line. */
export const excerpt = (content: string): string => shortened(contentToText(content));
/** The same of a text. */
export function shortened(text: string): string {
  const words = text.replace(/\s+/g, ' ').trim();
  const letters = [...words];
  return letters.length > LONGEST ? `${letters.slice(0, LONGEST - 1).join('')}…` : words;
}
/** One below the other, without those that are empty. */
export const sentences = (...parts: readonly string[]): string => parts.filter((part) => part !== '').join('\n');
export const gigabytes = (bytes: number): string => (bytes / 1024 ** 3).toFixed(1);
export const cents = (micros: number): string => (micros / 1_000_000).toFixed(2);

/** A metric as people know it. */
export const labelOfMetric = (metric: string): string => (isMetric(metric) ? METRICS[metric].label : metric);
export const wholeNumber = (value: number): string => Math.round(value).toLocaleString('en');
/** Lines of one notice; what is left is counted. */
const MOST_LINES = 10;
export const linesOf = (lines: readonly string[]): string =>
  sentences(...lines.slice(0, MOST_LINES), lines.length > MOST_LINES ? `and ${lines.length - MOST_LINES} more` : '');

type SummedMetric = Fact<'analytics.week_summed'>['payload']['metrics'][number];
/** The time before, beside the same days of now; nothing where no day is known in both. */
export function comparisonOf({ value, compared = value, previous }: SummedMetric): string {
  if (compared === value) return `, a week before ${wholeNumber(previous)}`;
  if (compared === 0 && previous === 0) return '';
  return `; of the days known in both weeks ${wholeNumber(compared)}, a week before ${wholeNumber(previous)}`;
}
