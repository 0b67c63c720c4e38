import { execFile } from 'node:child_process';
import { chmod } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { promisify } from 'node:util';
import { installPeer } from './peer-install.ts';

const run = promisify(execFile);

/**
 * The real ffmpeg and ffprobe, installed on demand: makes films for tests, and names the commands that look into them.
 */
export async function filmTools() {
  const folder = await installPeer('film');
  const require = createRequire(`${folder}/package.json`);
  const commandOf = (name: string) => (require(`${folder}/node_modules/${name}`) as { path: string }).path;
  const [ffmpeg, ffprobe] = [commandOf('@ffmpeg-installer/ffmpeg'), commandOf('@ffprobe-installer/ffprobe')];
  for (const path of [ffmpeg, ffprobe]) await chmod(path, 0o755);
  return {
    ffmpeg,
    ffprobe,
    /** Runs ffmpeg with these arguments, which write one file, and answers its path. */
    async make(path: string, ...words: string[]): Promise<string> {
      await run(ffmpeg, ['-v', 'error', '-y', ...words, path]);
      return path;
    },
  };
}
export type FilmTools = Awaited<ReturnType<typeof filmTools>>;
