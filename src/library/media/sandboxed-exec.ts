import { execFile } from 'node:child_process';
import { access, constants } from 'node:fs/promises';
import { delimiter, isAbsolute, join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const RUN_MS = 10_000; // a video takes well under one second; what takes far longer keeps others waiting for their turn
const MEMORY_KIB = 1_048_576;
const MOST_ANSWER = 4_000_000;
const BLOCK = 512;
// Set by a shell, for nothing else can: no more memory, no longer file written, and no more time than this even when we
// are gone. What a system does not know is left out.
const limits = (writes: number, seconds: number) =>
  `ulimit -d ${MEMORY_KIB} 2>/dev/null; ulimit -f ${Math.ceil(writes / BLOCK)} 2>/dev/null; ulimit -t ${seconds} 2>/dev/null; exec "$0" "$@"`;

/**
 * Only the file itself is read, by the readers of what is accepted: a playlist or a list of parts that names other
 * files or addresses is none.
 */
export const ONLY_THE_FILE =
  '-protocol_whitelist file -format_whitelist mov,matroska,webm,mp3,wav,ogg -probesize 16M -analyzeduration 10M'.split(
    ' ',
  );

/**
 * Runs a program of ffmpeg's over what strangers sent, with nothing of our environment and ended when it takes too
 * long; answers what it printed. It writes files of at most `writes` bytes. Rejects when it fails.
 */
export async function runSandboxed(
  command: string,
  words: readonly string[],
  { writes = 0, ms = RUN_MS }: { writes?: number; ms?: number } = {},
): Promise<Buffer> {
  // oxlint-disable-next-line node/no-process-env -- where programs are found, and nothing else of it
  const env = { PATH: process.env['PATH'] ?? '' };
  const options = {
    env,
    timeout: ms,
    killSignal: 'SIGKILL' as const,
    maxBuffer: MOST_ANSWER,
    encoding: 'buffer' as const,
  };
  return (await run('sh', ['-c', limits(writes, Math.ceil((ms * 3) / 2_000)), command, ...words], options)).stdout;
}

/** Whether the machine has such a program, by its name or its path. It is not run: each start of a service asks. */
export async function isThere(command: string): Promise<boolean> {
  // oxlint-disable-next-line node/no-process-env -- where programs are found, and nothing else of it
  const folders = isAbsolute(command) ? [''] : (process.env['PATH'] ?? '').split(delimiter);
  const found = await Promise.all(
    folders.map((folder) =>
      access(join(folder, command), constants.X_OK).then(
        () => true,
        () => false,
      ),
    ),
  );
  return found.includes(true);
}
