import { z } from 'zod';
import { refused } from '../kit/declare/fallback.ts';
import type { Http } from '../kit/wire/http.ts';
import type { Handle, Limits, Media, Post, Prepared, SocialLine } from './_contract.ts';
import { fittedCover } from './_files.ts';

/** A limit of a server; an implausible one is ignored, since anybody may run the server. */
const limit = (least: number, most: number) => z.int().min(least).max(most).nullish().catch(undefined);
/** An uploaded file; `url` is null while the server processes it. */
const Attachment = z.object({ id: z.coerce.string(), url: z.string().nullish() });
/** Old servers tell no limits. */
const Instance = z
  .looseObject({
    configuration: z
      .object({
        statuses: z
          .object({
            max_characters: limit(1, 1_000_000),
            max_media_attachments: limit(1, 100),
            characters_reserved_per_url: limit(1, 1_000),
          })
          .nullish(),
        media_attachments: z
          .object({
            image_size_limit: limit(65_536, 2 ** 40),
            image_matrix_limit: limit(65_536, 2 ** 40),
            video_size_limit: limit(65_536, 2 ** 40),
            supported_mime_types: z.array(z.string().max(100)).max(100).nullish().catch(undefined),
          })
          .nullish(),
      })
      .nullish(),
  })
  .refine((told) => Object.keys(told).length > 0);

const COVER_TYPES = ['image/jpeg', 'image/png'];
const POLL_MS = 2_000;
/** Ids of the files of a post at its server, in order; `waiting`: those that the server still works on. */
const Saved = z
  .object({ mediaIds: z.array(z.string()), waiting: z.array(z.string()) })
  .catch({ mediaIds: [], waiting: [] });
type Line = Pick<SocialLine, 'http'>;
/** Where files go, and the greatest length of their descriptions: a longer one would be refused. */
export interface UploadTo {
  path: string;
  alt: number;
  /** Takes the picture that was chosen for a video as `thumbnail`. */
  thumbnail?: boolean;
}

/** The limits of a network, with those that this server tells. */
export async function limitsAt(http: Http, limits: Limits): Promise<Limits> {
  const { configuration } = await instanceOf(http);
  const { statuses, media_attachments: media } = configuration ?? {};
  return {
    ...limits,
    ...(statuses?.max_characters && { text: statuses.max_characters }),
    ...(statuses?.characters_reserved_per_url && { linkLength: statuses.characters_reserved_per_url }),
    ...(statuses?.max_media_attachments && { media: statuses.max_media_attachments }),
    ...(media?.image_size_limit && { image: { ...limits.image, bytes: media.image_size_limit } }),
    ...(media?.video_size_limit && {
      video: { ...limits.video, bytes: media.video_size_limit },
      ...(limits.audio && { audio: { ...limits.audio, bytes: media.video_size_limit } }),
    }),
    ...(media?.supported_mime_types?.length && { mediaTypes: media.supported_mime_types }),
  };
}

async function instanceOf(http: Http): Promise<z.output<typeof Instance>> {
  return (
    (await http.find('/v2/instance', Instance)) ??
    (await http.find('/v1/instance', Instance)) ?? { configuration: null }
  );
}

/** One step: uploads the files that are missing, or asks whether the server has worked on the next one. */
export async function prepareMedia(
  line: Line,
  { post: { media }, saved, save }: { post: Pick<Post, 'media'> } & Pick<Handle, 'saved' | 'save'>,
  to: UploadTo,
): Promise<Prepared> {
  const { mediaIds, waiting } = Saved.parse(saved);
  const missing = media.slice(mediaIds.length);
  if (missing.length > 0) {
    const { configuration } = await instanceOf(line.http);
    let state = { mediaIds, waiting };
    for (const item of missing) {
      const { id, url } = await upload(line, item, { ...to, limits: configuration?.media_attachments });
      state = { mediaIds: [...state.mediaIds, id], waiting: [...state.waiting, ...(url ? [] : [id])] };
      await save(state);
    }
    return state.waiting.length > 0 ? { againMs: POLL_MS } : 'ready';
  }
  const [next, ...others] = waiting;
  if (next === undefined) return 'ready';
  const { url } = await line.http.get(`/v1/media/${encodeURIComponent(next)}`, Attachment);
  if (!url) return { againMs: POLL_MS };
  await save({ mediaIds, waiting: others });
  return others.length > 0 ? { againMs: 0 } : 'ready';
}

type MediaLimits = NonNullable<z.output<typeof Instance>['configuration']>['media_attachments'];
/** Uploads a file, converted where the server would refuse its size. */
async function upload(
  { http }: Line,
  item: Media,
  { path, alt, thumbnail: takesCover, limits }: UploadTo & { limits: MediaLimits | undefined },
): Promise<z.output<typeof Attachment>> {
  const most = { maxBytes: limits?.image_size_limit ?? undefined, maxPixels: limits?.image_matrix_limit ?? undefined };
  const fitted = await item.fit({ ...most, types: limits?.supported_mime_types ?? [item.contentType] });
  const bytes = item.kind === 'image' ? limits?.image_size_limit : limits?.video_size_limit; // of sounds, too
  if (!fitted && item.size > (bytes ?? Infinity))
    throw refused('rejected', `The server takes at most ${bytes} bytes: ${item.name} has ${item.size}`);
  const file = fitted ?? item;
  const thumbnail = takesCover ? await fittedCover(item, { ...most, types: COVER_TYPES }) : undefined;
  const description = item.alt.slice(0, alt) || undefined;
  return http.post(path, Attachment, { multipart: { file, description, thumbnail } });
}
