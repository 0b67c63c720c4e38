import { execFile } from 'node:child_process';
import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { environment as ours } from '../../src/platform/config/index.ts';
import { DAPR_VERSION, type DaprPrograms, type Environment, type Program, PROGRAMS, type Say } from './version.ts';

const SUFFIX = process.platform === 'win32' ? '.exe' : '';
const ASK_MS = 20_000;

export interface Found {
  /** Which step supplied the programs, for people. */
  from: string;
  programs: DaprPrograms;
}

/**
 * Where this machine keeps the programs that `npm run dapr:install` made: `$XDG_CACHE_HOME` or `~/.cache`, one folder
 * per version.
 */
export const cacheFolder = (environment: Environment): string =>
  join(environment['XDG_CACHE_HOME'] || join(environment['HOME'] || homedir(), '.cache'), 'rookery', 'dapr');

const pathIn = (folder: string, program: Program) => join(folder, program + SUFFIX);
const runs = (file: string) =>
  access(file, constants.X_OK).then(
    () => true,
    () => false,
  );

async function firstOf(folders: readonly string[], program: Program): Promise<string | undefined> {
  for (const folder of folders) if (folder && (await runs(pathIn(folder, program)))) return pathIn(folder, program);
  return undefined;
}

const output = (file: string, ...args: string[]) =>
  new Promise<string>(
    (done) =>
      void execFile(file, args, { timeout: ASK_MS, killSignal: 'SIGKILL' }, (_error, out, err) =>
        done(`${out}\n${err}`),
      ),
  );

/** The version a program gives for itself, or undefined. */
export async function versionOf(file: string): Promise<string | undefined> {
  const plain = /^v?(\d+\.\d+\.\d+(?:[-+]\S*)?)[ \r]*$/m.exec(await output(file, '--version'))?.[1];
  if (plain) return plain;
  // placement and scheduler know no --version; a log level that does not exist makes them say one line, stamped with
  // it, and end
  return /\bver=v?(\d+\.\d+\.\d+\S*)/.exec(await output(file, '--log-level', 'version'))?.[1];
}

/** The three programs out of these folders, or the sentence that says why not. */
async function programsIn(folders: readonly string[]): Promise<DaprPrograms | string> {
  const found = await Promise.all(PROGRAMS.map(async (program) => [program, await firstOf(folders, program)] as const));
  const missing = found.filter(([, file]) => file === undefined).map(([program]) => program);
  if (missing.length > 0) return missing.length === PROGRAMS.length ? 'not there' : `no ${missing.join(', no ')}`;
  const versions = await Promise.all(found.map(async ([, file]) => [file, await versionOf(file!)] as const));
  const wrong = versions.filter(([, version]) => version !== DAPR_VERSION);
  if (wrong.length > 0)
    return (
      wrong.map(([file, version]) => `${file} is ${version ?? 'of an unknown version'}`).join(', ') +
      `; needed is ${DAPR_VERSION}`
    );
  return Object.fromEntries(found) as Record<Program, string>;
}

/**
 * Looks in `DAPR_BIN_DIR`, the path, the Dapr CLI's folder and our cache, in this order. A `DAPR_BIN_DIR` that is set
 * and does not hold all three is an error.
 */
export async function locate(environment: Environment, say: Say = () => {}): Promise<Found | undefined> {
  const named = environment['DAPR_BIN_DIR'];
  if (named) {
    const programs = await programsIn([named]);
    if (typeof programs === 'string')
      throw new Error(
        `DAPR_BIN_DIR is ${named}, but it does not hold daprd, placement and scheduler ${DAPR_VERSION} (${programs}). Correct it or unset it.`,
      );
    return { from: `DAPR_BIN_DIR (${named})`, programs };
  }
  const places: readonly (readonly [string, readonly string[]])[] = [
    ['the path', (environment['PATH'] ?? '').split(delimiter)],
    ["the Dapr CLI's folder", [join(environment['HOME'] || homedir(), '.dapr', 'bin')]],
    ['the cache', [join(cacheFolder(environment), DAPR_VERSION)]],
  ];
  for (const [name, folders] of places) {
    const programs = await programsIn(folders);
    if (typeof programs !== 'string')
      return { from: folders.length === 1 ? `${name} (${folders[0]})` : name, programs };
    if (programs !== 'not there') say(`${name}: ${programs}`);
  }
  return undefined;
}

/** The paths of daprd, placement and scheduler 1.18.3 on this machine, or undefined. Makes nothing. */
export async function findDapr(environment: Environment = ours()): Promise<DaprPrograms | undefined> {
  return (await locate(environment))?.programs;
}
