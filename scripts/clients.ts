// npm run clients [-- folder]: makes packages of the TypeScript client and of the command line for other places, by
// default in .cache/clients. The command line carries the client with it.
import { execFile } from 'node:child_process';
import { chmod, cp, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, delimiter, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL('..', import.meta.url));
const PACKAGES = ['typescript', 'cli'] as const;

/** npm runs on the Node that it came with. */
function npmEnv(): NodeJS.ProcessEnv {
  const path = (process.env['PATH'] ?? '').split(delimiter).filter((one) => !one.endsWith('node_modules/.bin'));
  return { ...process.env, NODE_OPTIONS: '', PATH: path.join(delimiter) };
}

async function pack(name: (typeof PACKAGES)[number], folder: string): Promise<string> {
  const place = await mkdtemp(join(tmpdir(), 'rookery-pack-'));
  try {
    for (const file of [`clients/${name}/package.json`, `clients/${name}/README.md`, 'LICENSE'])
      await cp(join(ROOT, file), join(place, basename(file)));
    const project = join(ROOT, 'clients', name, 'tsconfig.build.json');
    const compiler = join(ROOT, 'node_modules/typescript/bin/tsc');
    await run(process.execPath, [compiler, '-p', project, '--outDir', join(place, 'dist')]);
    if (name === 'cli') await chmod(join(place, 'dist/cli/src/main.js'), 0o755);
    const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', folder], {
      cwd: place,
      env: npmEnv(),
    });
    return (JSON.parse(stdout) as [{ filename: string }])[0].filename;
  } finally {
    await rm(place, { recursive: true, force: true });
  }
}

/** Compiles both and packs them into a folder; answers the files by name. */
export async function packClients(folder: string): Promise<Record<(typeof PACKAGES)[number], string>> {
  const packed = { typescript: '', cli: '' };
  await mkdir(folder, { recursive: true });
  for (const name of PACKAGES) packed[name] = join(folder, await pack(name, folder));
  return packed;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const packed = await packClients(resolve(process.argv[2] ?? join(ROOT, '.cache/clients')));
  for (const file of Object.values(packed)) process.stdout.write(`${file}\n`);
}
