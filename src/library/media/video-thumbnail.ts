import { isThere, ONLY_THE_FILE, runSandboxed } from './sandboxed-exec.ts';

/** A frame of a video as a PNG of at most 400 pixels a side, as it is held; undefined: none can be had of this one. */
export type DrawVideoThumbnail = (path: string, durationMs: number | null) => Promise<Buffer | undefined>;

const LATEST_S = 10;
const FRAME = [
  '-map',
  '0:V:0',
  '-frames:v',
  '1',
  '-vf',
  "scale='min(400,iw)':'min(400,ih)':force_original_aspect_ratio=decrease",
  '-f',
  'image2pipe',
];

/** ffmpeg where the machine has it: a process without network for each video. */
export async function openVideoThumbnails(command: string): Promise<DrawVideoThumbnail | undefined> {
  if (!(await isThere(command))) return undefined;
  return async (path, durationMs) => {
    // a tenth in: what videos begin with is often black
    const at = Math.min((durationMs ?? 0) / 10_000, LATEST_S).toFixed(3);
    const from = ['-nostdin', '-threads', '1', ...ONLY_THE_FILE, '-noaccurate_seek', '-ss', at, '-i', `file:${path}`];
    try {
      const frame = await runSandboxed(command, ['-v', 'error', ...from, ...FRAME, '-c:v', 'png', 'pipe:1']);
      return frame.length > 0 ? frame : undefined;
    } catch {
      return undefined; // broken, unknown to this ffmpeg, or too much for it
    }
  };
}
