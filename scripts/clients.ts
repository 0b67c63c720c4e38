// npm run clients [-- folder]: makes packages of the TypeScript client and of the command line for other places, by
// default in .cache/clients. The command line carries the client with it.
import { execFile } from 'node:child_process';
import { chmod, cp, mkdir, rm } from 'node:fs/promises';
import { delimiter, join, resolve } from 'node:path';
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

/** Compiles both and packs them into a folder; answers the files by name. */
export async function packClients(folder: string): Promise<Record<(typeof PACKAGES)[number], string>> {
  const packed = { typescript: '', cli: '' };
  for (const name of PACKAGES) {
    const place = join(folder, name);
    await rm(place, { recursive: true, force: true });
    await mkdir(place, { recursive: true });
    for (const file of ['package.json', 'README.md']) await cp(join(ROOT, 'clients', name, file), join(place, file));
    await cp(join(ROOT, 'LICENSE'), join(place, 'LICENSE'));
    await run(process.execPath, [
      join(ROOT, 'node_modules/typescript/bin/tsc'),
      '-p',
      join(ROOT, 'clients', name),
      '--outDir',
      join(place, 'dist'),
    ]);
    if (name === 'cli') await chmod(join(place, 'dist/cli/src/main.js'), 0o755);
    const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', folder], {
      cwd: place,
      env: npmEnv(),
    });
    packed[name] = join(folder, (JSON.parse(stdout) as [{ filename: string }])[0].filename);
  }
  return packed;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const packed = await packClients(resolve(process.argv[2] ?? join(ROOT, '.cache/clients')));
  for (const file of Object.values(packed)) process.stdout.write(`${file}\n`);
}
