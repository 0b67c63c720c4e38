import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Bug, BUGS, LEFT_OUT } from './bugs/list.ts';
import { buildTemplate } from './database.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** What the simulation loads. */
const COPIED = ['src', 'actors', 'test/sim', 'test/support', 'package.json'];

interface Options {
  server: string;
  /** Most seeds that a bug is looked for in. */
  seeds: number;
  only: readonly string[];
  say(line: string): void;
}

/** The text of a file with the edits of a bug in it. Throws for one that does not apply once. */
export function editedText(text: string, { name }: Bug, { from, to, file }: Bug['edits'][number]): string {
  const parts = text.split(from);
  if (parts.length !== 2) throw new Error(`The bug ${name} names a text that ${file} has ${parts.length - 1} times`);
  return parts.join(to);
}

/** Copies of the tree that are searched at a time: each waits for the database most of the time. */
const AT_ONCE = 3;

/** Puts each bug into a copy of the tree, and simulates there until it is found. Answers the exit code. */
export async function findBugs({ server, seeds, only, say }: Options): Promise<number> {
  await using template = await buildTemplate(server, `rookery_sim_${process.pid}`);
  const wanted = BUGS.filter(({ name }) => only.length === 0 || only.some((one) => name.startsWith(one)));
  const left = [...wanted];
  let found = 0;
  const work = async (): Promise<void> => {
    const folder = copyTree();
    try {
      for (let bug = left.shift(); bug; bug = left.shift()) {
        const restore = plant(bug, folder);
        const { code, output } = await simulateApart(['--seeds', String(seeds), '--json'], {
          cwd: folder,
          env: {
            TEST_DATABASE_URL: server,
            SIM_TEMPLATE: template.name,
            NODE_COMPILE_CACHE: join(folder, '.compiled'),
          },
        });
        restore();
        const [, seed, why] = /^failed: (\d+): (.*)$/m.exec(output) ?? [];
        if (code === 1 && seed !== undefined) found += 1;
        say(
          code === 1 && seed !== undefined
            ? `${bug.name}: found in ${seed} seeds: ${why}`
            : `${bug.name}: not found in ${seeds} seeds${code === 0 ? '' : ` (${output.slice(-300)})`}`,
        );
      }
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
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

/** Answers how the files are made whole again. */
function plant(bug: Bug, folder: string): () => void {
  const before = new Map<string, string>();
  for (const edit of bug.edits) {
    const path = join(folder, edit.file);
    const text = readFileSync(path, 'utf8');
    if (!before.has(path)) before.set(path, text);
    writeFileSync(path, editedText(text, bug, edit));
  }
  return () => before.forEach((text, path) => writeFileSync(path, text));
}

/** Runs a simulation in a process of its own, whose time and randomness are virtual. */
export async function simulateApart(
  args: readonly string[],
  { cwd = ROOT, env = {} }: { cwd?: string; env?: Record<string, string> } = {},
): Promise<{ code: number | null; output: string }> {
  const child = spawn(process.execPath, ['test/sim/main.ts', ...args], {
    cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => void (output += String(text)));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, output };
}
