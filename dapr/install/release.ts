import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { chmod, mkdir, readFile, rm } from 'node:fs/promises';
import * as plain from 'node:http';
import * as secure from 'node:https';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { run } from './run.ts';
import { DAPR_VERSION, type Environment, type Program, PROGRAMS, type Say } from './version.ts';

/** The project's own release page; one archive per program and platform, each with its checksum beside it. */
const RELEASES = `https://github.com/dapr/dapr/releases/download/v${DAPR_VERSION}`;

const OS: Readonly<Record<string, string>> = { linux: 'linux', darwin: 'darwin', win32: 'windows' };
const ARCH: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64', arm: 'arm' };
const HOPS = 5;
const SILENCE_MS = 20_000;

function archiveName(program: Program): string {
  const os = OS[process.platform];
  const arch = ARCH[process.arch];
  if (!os || !arch) throw new Error(`no release for ${process.platform} ${process.arch}`);
  return `${program}_${os}_${arch}.${os === 'windows' ? 'zip' : 'tar.gz'}`;
}

/** Fetches one file into the folder, following redirects; never from https to http. */
function download(url: string, file: string, signal: AbortSignal | undefined, hops = HOPS): Promise<void> {
  return new Promise((done, fail) => {
    const { protocol } = new URL(url);
    const request = (protocol === 'http:' ? plain : secure).get(
      url,
      { timeout: SILENCE_MS, ...(signal && { signal }) },
      (response) => {
        const { statusCode = 0, headers } = response;
        if (statusCode >= 300 && statusCode < 400 && headers.location) {
          response.resume();
          const next = new URL(headers.location, url);
          if (hops === 0 || (protocol === 'https:' && next.protocol !== 'https:'))
            return fail(new Error(`${url} leads astray`));
          return void download(next.href, file, signal, hops - 1).then(done, fail);
        }
        if (statusCode !== 200) {
          response.resume();
          return fail(new Error(`${url} answered ${statusCode}`));
        }
        pipeline(response, createWriteStream(file)).then(done, fail);
      },
    );
    request.on('timeout', () => request.destroy(new Error(`${url} does not answer`)));
    request.on('error', fail);
  });
}

const sha256 = async (file: string) =>
  createHash('sha256')
    .update(await readFile(file))
    .digest('hex');

/**
 * Puts the released programs into `folder`, each checked against the sha256 published beside it. Rejects when one
 * cannot be had.
 */
export async function downloadRelease(
  folder: string,
  {
    releases = RELEASES,
    environment,
    say,
    signal,
  }: { releases?: string; environment: Environment; say: Say; signal?: AbortSignal | undefined },
): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const program of PROGRAMS) {
    const name = archiveName(program);
    const archive = join(folder, name);
    say(`downloading ${name}`);
    await download(`${releases}/${name}.sha256`, `${archive}.sha256`, signal);
    await download(`${releases}/${name}`, archive, signal);
    const wanted = /^([0-9a-f]{64})\b/.exec(await readFile(`${archive}.sha256`, 'utf8'))?.[1];
    if (wanted === undefined || wanted !== (await sha256(archive)))
      throw new Error(`${name} is not what its published sha256 says`);
    await run('tar', ['-xf', archive, '-C', folder], { environment, signal });
    await chmod(join(folder, program + (process.platform === 'win32' ? '.exe' : '')), 0o755);
    await Promise.all([rm(archive), rm(`${archive}.sha256`)]);
  }
}
