import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Bug, BUGS, LEFT_OUT } from './bugs/list.ts';
import { buildTemplate } from './database.ts';
import { ROOT, simulateApart } from './jobs.ts';

/** What the simulation loads. */
const COPIED = ['src', 'actors', 'test/sim', 'test/support', 'package.json'];

/** The text of a file with the edits of a bug in it. Throws for one that does not apply once. */
export function editedText(text: string, name: string, [file, from, to]: Bug['edits'][number]): string {
  const parts = text.split(from);
  if (parts.length !== 2) throw new Error(`The bug ${name} names a text that ${file} has ${parts.length - 1} times`);
  return parts.join(to);
}

/**
 * Puts each bug into a copy of the tree, and simulates there until it is found; so many at a time. Answers the exit
 * code.
 */
export async function findBugs(seeds: number, jobs: number, only: readonly string[], say: (line: string) => void) {
  await using template = await buildTemplate(`rookery_sim_${process.pid}`);
  const wanted = BUGS.filter(({ name }) => only.length === 0 || only.some((one) => name.startsWith(one)));
  const left = [...wanted];
  let found = 0;
  const work = async (): Promise<void> => {
    const folder = copyTree();
    const env = { SIM_TEMPLATE: template.name, NODE_COMPILE_CACHE: join(folder, '.compiled') };
    try {
      for (let bug = left.shift(); bug; bug = left.shift()) {
        plant(bug, folder);
        const { code, output } = await simulateApart(['--seeds', String(seeds), '--json'], folder, env);
        for (const [file] of bug.edits) cpSync(join(ROOT, file), join(folder, file));
        const [, seed, why] = /^failed: (\d+): (.*)$/m.exec(output) ?? [];
        if (code === 1 && seed !== undefined) {
          found += 1;
          say(`${bug.name}: found in ${seed} seeds: ${why}`);
        } else say(`${bug.name}: not found in ${seeds} seeds${code === 0 ? '' : ` (${output.slice(-300)})`}`);
      }
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  };
  await Promise.all(Array.from({ length: jobs }, work));
  say(`${found} of ${wanted.length} found`);
  for (const [name, reason] of Object.entries(LEFT_OUT)) say(`${name}: left out: ${reason}`);
  return 0;
}

function copyTree(): string {
  const folder = mkdtempSync(join(tmpdir(), 'rookery-bug-'));
  for (const part of COPIED) cpSync(join(ROOT, part), join(folder, part), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  return folder;
}

function plant({ name, edits }: Bug, folder: string): void {
  for (const edit of edits) {
    const path = join(folder, edit[0]);
    writeFileSync(path, editedText(readFileSync(path, 'utf8'), name, edit));
  }
}
