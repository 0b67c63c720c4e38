import { rm, writeFile } from 'node:fs/promises';
import { fileTypeFromBuffer, fileTypeFromFile } from 'file-type';
import { AppError } from '../../platform/kernel/index.ts';
import { openVideoProbe } from './video.ts';
import type { Pictures } from './pictures.ts';
import { openVideoThumbnails } from './video-thumbnail.ts';
import { ACCEPTED, type Format, READABLE } from './rules.ts';
import { openLimiter } from '../../platform/flow/index.ts';

export interface Probed extends Format {
  width: number | null;
  height: number | null;
  durationMs: number | null;
  codecs: readonly string[];
}

export interface Prober {
  /** What a file is by its first bytes; `unsupported_media` for what is not accepted. */
  typeOf(head: Uint8Array): Promise<Format>;
  /** Whether more can be learned of such a file than its first bytes say. */
  needsWhole(format: Format): boolean;
  /**
   * What a file of this machine is, judged by its content alone (S147). Anything that is not accepted, or a picture
   * that cannot be read, is `unsupported_media`.
   */
  look(orgId: string, path: string): Promise<Probed>;
  /**
   * Writes a small WebP of a picture or a video, with nothing of what was noted in it beside the picture; false: it
   * cannot be drawn here.
   */
  thumbnail(
    orgId: string,
    path: string,
    probed: Pick<Probed, 'mime' | 'kind' | 'durationMs'>,
    target: string,
  ): Promise<boolean>;
}

const AT_ONCE = 2; // videos of one process: each may take a few hundred megabytes
const OF_ONE = 1; // organization
const refused = (what: string) => new AppError('unsupported_media', what);

function accepted(detected: { mime: string } | undefined): Format {
  const format = detected && ACCEPTED.get(detected.mime);
  if (!format) throw refused('This kind of file is not accepted: send a picture, a video, a sound or a PDF');
  return format;
}

/** The commands: videos are not looked into where there is no `ffprobe`, and not drawn where there is no `ffmpeg`. */
export async function openProber({
  pictures,
  ffprobe,
  ffmpeg,
}: {
  pictures: Pictures;
  ffprobe: string;
  ffmpeg: string;
}): Promise<Prober> {
  const [probeVideo, drawThumbnail] = await Promise.all([openVideoProbe(ffprobe), openVideoThumbnails(ffmpeg)]);
  const limiter = openLimiter({ total: AT_ONCE, perOwner: OF_ONE });
  async function limited<T>(orgId: string, work: () => Promise<T>): Promise<T> {
    using _ = await limiter.enter(orgId);
    return await work();
  }
  const plays = ({ kind }: Format) => kind === 'video' || kind === 'audio';

  return {
    typeOf: async (head) => accepted(await fileTypeFromBuffer(head).catch(() => undefined)),
    needsWhole: (format) =>
      READABLE.has(format.mime) ||
      (probeVideo !== undefined && plays(format)) ||
      (drawThumbnail !== undefined && format.kind === 'video'),
    async look(orgId, path) {
      const format = accepted(await fileTypeFromFile(path).catch(() => undefined));
      const unknown: Probed = { ...format, width: null, height: null, durationMs: null, codecs: [] };
      if (READABLE.has(format.mime)) {
        const size = await pictures.measure(orgId, path);
        if (!size) throw refused('This picture cannot be read');
        return { ...unknown, ...size };
      }
      return probeVideo && plays(format) ? { ...unknown, ...(await limited(orgId, () => probeVideo(path))) } : unknown;
    },
    async thumbnail(orgId, path, { mime, kind, durationMs }, target) {
      if (kind !== 'video') return READABLE.has(mime) && (await pictures.thumbnail(orgId, path, target));
      const frame = drawThumbnail && (await limited(orgId, () => drawThumbnail(path, durationMs)));
      if (!frame) return false;
      const framePath = `${target}-frame`;
      try {
        await writeFile(framePath, frame, { mode: 0o640 });
        return await pictures.thumbnail(orgId, framePath, target);
      } finally {
        await rm(framePath, { force: true });
      }
    },
  };
}
