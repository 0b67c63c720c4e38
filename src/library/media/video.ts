import { z } from 'zod';
import { isThere, ONLY_THE_FILE, runSandboxed } from './sandboxed-exec.ts';

/** What ffprobe says of a video or a sound. */
export interface VideoProbe {
  width: number | null;
  height: number | null;
  durationMs: number | null;
  codecs: readonly string[];
}
/** Undefined: it cannot say anything of this file. */
export type ProbeVideo = (path: string) => Promise<VideoProbe | undefined>;

const SHOWN =
  'format=duration:stream=codec_type,codec_name,width,height:stream_disposition=attached_pic:stream_side_data=rotation';

const Said = z.object({
  format: z.object({ duration: z.coerce.number().optional().catch(undefined) }).default({}),
  streams: z
    .array(
      z.object({
        codec_type: z.string().optional(),
        codec_name: z.string().optional(),
        width: z.int().positive().optional().catch(undefined),
        height: z.int().positive().optional().catch(undefined),
        disposition: z.object({ attached_pic: z.number().optional() }).optional(),
        side_data_list: z.array(z.object({ rotation: z.number().optional() })).optional(),
      }),
    )
    .default([]),
});

/** ffprobe where the machine has it: a process without network for each video. */
export async function openVideoProbe(command: string): Promise<ProbeVideo | undefined> {
  if (!(await isThere(command))) return undefined;
  return async (path) => {
    try {
      const said = await runSandboxed(command, [
        '-v',
        'error',
        ...ONLY_THE_FILE,
        '-print_format',
        'json',
        '-show_entries',
        SHOWN,
        `file:${path}`,
      ]);
      return probeOf(Said.parse(JSON.parse(said.toString())));
    } catch {
      return undefined; // broken, unknown to this ffprobe, or too slow: networks judge videos themselves
    }
  };
}

function probeOf({ format, streams }: z.output<typeof Said>): VideoProbe {
  // the cover of a sound is no video
  const playing = streams.filter(({ disposition }) => disposition?.attached_pic !== 1);
  const picture = playing.find(({ codec_type }) => codec_type === 'video');
  const turned =
    picture?.side_data_list?.some(({ rotation }) => rotation !== undefined && Math.abs(rotation) % 180 === 90) ?? false;
  const [width, height] = turned ? [picture?.height, picture?.width] : [picture?.width, picture?.height];
  const durationMs =
    format.duration !== undefined && format.duration >= 0
      ? Math.min(Math.round(format.duration * 1_000), 2_147_483_647)
      : null;
  return {
    width: width ?? null,
    height: height ?? null,
    durationMs,
    codecs: playing.flatMap(({ codec_name }) => codec_name ?? []),
  };
}
