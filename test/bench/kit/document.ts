import { readFile, writeFile } from 'node:fs/promises';
import { machine } from './report.ts';

const FILE = new URL('../../../docs/performance.md', import.meta.url);
const BEGIN = '<!-- figures: begin -->';
const END = '<!-- figures: end -->';

/** Puts these tables in the place of the last ones in docs/performance.md, with machine, commit and date. */
export async function writePerformance(texts: readonly string[], quick: boolean): Promise<void> {
  const page = await readFile(FILE, 'utf8');
  const [from, to] = [page.indexOf(BEGIN), page.indexOf(END)];
  if (from < 0 || to < from) throw new Error(`docs/performance.md has no place for the figures (${BEGIN} … ${END})`);
  const { commit, cores, cpu, node } = machine();
  const where = `Measured on ${new Date().toISOString().slice(0, 10)} at commit ${commit}: ${cores} cores (${cpu}), Node ${node}, everything on one machine over loopback.${quick ? ' With `--quick`: these figures say nothing.' : ''}`;
  await writeFile(FILE, `${page.slice(0, from)}${BEGIN}\n\n${where}\n\n${texts.join('\n\n')}\n\n${page.slice(to)}`);
}
