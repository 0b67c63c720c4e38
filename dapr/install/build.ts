import { cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { run } from './run.ts';
import { DAPR_SOURCE_SUM, DAPR_VERSION, type Environment, PROGRAMS, type Say } from './version.ts';

const MODULE = 'github.com/dapr/dapr';
/** Not served by every module proxy; Rookery uses no workflows, so the build leaves out whatever needs it. */
const WORKFLOW_MODULE = 'github.com/dapr/durabletask-go';
const OVERLAY = fileURLToPath(new URL('./overlay/', import.meta.url));
const GO_MINOR = 26;
const TICK_MS = 20_000;

/**
 * `charts` is a Go package as well; without any one of these Go resolves the whole module graph and fails with a
 * misleading error.
 */
const PARTS = ['go.mod', 'go.sum', 'charts', 'cmd', 'pkg', 'utils'];
/** Both name the workflow engine's `Backend` type for a slot that nothing fills. */
const NAME_THE_BACKEND = ['pkg/runtime/compstore/compstore.go', 'pkg/runtime/processor/manager.go'];
const REGISTRAR = 'pkg/runtime/wfengine/wfregistrar/registrar.go';

export interface BuildOptions {
  environment: Environment;
  say: Say;
  signal?: AbortSignal | undefined;
}

async function* goFiles(folder: string): AsyncGenerator<string> {
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true }))
    if (entry.isFile() && entry.name.endsWith('.go')) yield join(entry.parentPath, entry.name);
}

/** Rejects with what is missing unless Go 1.26 or newer is on the path. */
async function requireGo(options: BuildOptions): Promise<string> {
  const version = (await run('go', ['env', 'GOVERSION'], options).catch(() => '')).trim();
  if (version === '') throw new Error(`Go is not on the path (1.${GO_MINOR} or newer is needed)`);
  const minor = Number(/^go1\.(\d+)/.exec(version)?.[1] ?? 0);
  if (minor < GO_MINOR) throw new Error(`Go is ${version}; 1.${GO_MINOR} or newer is needed`);
  return version;
}

/**
 * The module's source as Go's proxy serves it, whatever checksum database the machine's Go asks or leaves out. Answers
 * the folder, read-only.
 */
async function fetchSource(cwd: string, options: BuildOptions): Promise<string> {
  const told = await run('go', ['mod', 'download', '-json', `${MODULE}@v${DAPR_VERSION}`], { ...options, cwd }).catch(
    (error: Error & { out?: string }) => {
      throw new Error(`Go could not fetch ${MODULE}: ${/"Error": "(.*)"/.exec(error.out ?? '')?.[1] ?? error.message}`);
    },
  );
  const folder = /"Dir": "(.*)"/.exec(told)?.[1];
  if (!folder) throw new Error(`Go named no folder for ${MODULE}`);
  if (/"Sum": "(.*)"/.exec(told)?.[1] !== DAPR_SOURCE_SUM)
    throw new Error(`the source of ${MODULE} v${DAPR_VERSION} is not the one that is pinned here`);
  return JSON.parse(`"${folder}"`) as string;
}

async function copyWritable(from: string, to: string, options: BuildOptions): Promise<void> {
  await mkdir(to);
  for (const part of PARTS) await cp(join(from, part), join(to, part), { recursive: true });
  if (process.platform !== 'win32') await run('chmod', ['-R', 'u+w', to], options); // the module cache is read-only
  for await (const file of goFiles(to)) if (file.endsWith('_test.go')) await rm(file);
}

/** Takes the workflow engine out and puts in the stand-ins and our short list of components. */
async function withoutWorkflows(source: string, options: BuildOptions): Promise<void> {
  const registrar = await readFile(join(source, REGISTRAR));
  await rm(join(source, 'pkg/runtime/wfengine'), { recursive: true });
  await rm(join(source, 'pkg/actors/targets/workflow'), { recursive: true });
  await cp(OVERLAY, source, { recursive: true });
  await mkdir(join(source, 'pkg/runtime/wfengine/wfregistrar'), { recursive: true });
  await writeFile(join(source, REGISTRAR), registrar);

  for (const name of NAME_THE_BACKEND) {
    const text = await readFile(join(source, name), 'utf8');
    const edited = text.replace(`\t"${WORKFLOW_MODULE}/backend"\n`, '').replaceAll('backend.Backend', 'any');
    if (edited === text) throw new Error(`${name} of Dapr is not as this recipe expects it`);
    await writeFile(join(source, name), edited);
  }
  await run('go', ['mod', 'edit', `-droprequire=${WORKFLOW_MODULE}`], { ...options, cwd: source });
  for await (const file of goFiles(source))
    if ((await readFile(file, 'utf8')).includes(`"${WORKFLOW_MODULE}`))
      throw new Error(`${file} still needs ${WORKFLOW_MODULE}`);
}

/**
 * Builds the three programs from Go modules into `folder`; `work` is an empty folder for the source. Minutes with empty
 * Go caches, seconds with full ones.
 */
export async function buildFromSource(
  folder: string,
  work: string,
  { environment, say, signal }: BuildOptions,
): Promise<void> {
  const options = { environment: { ...environment, GOWORK: 'off', GOFLAGS: '', CGO_ENABLED: '0' }, say, signal };
  say(`building with ${await requireGo(options)}; this happens once, and takes 4 to 8 minutes with empty Go caches`);
  await mkdir(work, { recursive: true });
  await mkdir(folder, { recursive: true });
  say(`fetching the source of ${MODULE} v${DAPR_VERSION}`);
  const source = join(work, 'source');
  await copyWritable(await fetchSource(work, options), source, options);
  await withoutWorkflows(source, options);

  const stamps = [
    '-s',
    '-w',
    `-X ${MODULE}/pkg/buildinfo.version=${DAPR_VERSION}`,
    `-X github.com/dapr/kit/logger.DaprVersion=${DAPR_VERSION}`,
  ].join(' ');
  for (const program of PROGRAMS) {
    say(`building ${program}`);
    const tick = setInterval(() => say(`still building ${program}`), TICK_MS);
    const file = join(folder, program + (process.platform === 'win32' ? '.exe' : ''));
    try {
      await run(
        'go',
        ['build', '-mod=readonly', '-buildvcs=false', '-trimpath', '-ldflags', stamps, '-o', file, `./cmd/${program}`],
        {
          ...options,
          cwd: source,
        },
      );
    } finally {
      clearInterval(tick);
    }
  }
}
