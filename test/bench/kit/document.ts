import { readFile, writeFile } from 'node:fs/promises';

const FILE = new URL('../../../docs/performance.md', import.meta.url);
const BEGIN = '<!-- figures: begin -->';
const END = '<!-- figures: end -->';
const HEADING = /^### (.+)$/m;

/**
 * Puts the tables of one benchmark, which begin with a heading of level 3, into docs/performance.md in the place of its
 * last ones; `order` lists all headings.
 */
export async function writePerformance(section: string, order: readonly string[]): Promise<void> {
  const page = await readFile(FILE, 'utf8');
  const [from, to] = [page.indexOf(BEGIN), page.indexOf(END)];
  if (from < 0 || to < from) throw new Error(`docs/performance.md has no place for the figures (${BEGIN} … ${END})`);
  const written = page.slice(from + BEGIN.length, to).split(/^(?=### )/m);
  const sections = new Map(
    [...written, section].flatMap((text) =>
      HEADING.test(text) ? [[HEADING.exec(text)![1]!, text.trim()] as const] : [],
    ),
  );
  const figures = order.flatMap((heading) => sections.get(heading) ?? []);
  await writeFile(FILE, `${page.slice(0, from)}${BEGIN}\n\n${figures.join('\n\n')}\n\n${page.slice(to)}`);
}
