import { isThere, ONLY_THE_FILE, runSandboxed } from '../sandboxed-exec.ts';

/** Writes a part of a video or sound to `target`; false: it cannot be done with this one. */
export type TrimVideo = (
  video: { path: string; bytes: number; container: string },
  part: { from: number; to: number },
  target: string,
) => Promise<boolean>;

/** Copying is as fast as the disk. */
const TRIM_MS = 60_000;
/** What a container may have more than the whole video had. */
const SLACK_BYTES = 1_048_576;

/**
 * ffmpeg where the machine has it. Nothing is encoded anew, for that takes minutes of a processor: so the part begins at
 * the last whole picture (key frame) at or before `from`.
 */
export async function openTrim(command: string): Promise<TrimVideo | undefined> {
  if (!(await isThere(command))) return undefined;
  return async ({ path, bytes, container }, { from, to }, target) => {
    const read = ['-nostdin', '-threads', '1', ...ONLY_THE_FILE, '-ss', from.toFixed(3), '-i', `file:${path}`];
    const part = ['-t', (to - from).toFixed(3), '-map', '0:V?', '-map', '0:a?', '-c', 'copy'];
    const written = container === 'mp4' || container === 'mov' ? ['-movflags', '+faststart'] : [];
    try {
      await runSandboxed(command, ['-v', 'error', ...read, ...part, ...written, '-f', container, `file:${target}`], {
        writes: bytes + SLACK_BYTES,
        ms: TRIM_MS,
      });
      return true;
    } catch {
      return false; // broken, unknown to this ffmpeg, or too much for it
    }
  };
}
