import { z } from 'zod';
import { refused } from '../kit/declare/fallback.ts';
import type { Multipart } from '../kit/protocols/multipart.ts';
import type { Http } from '../kit/wire/http.ts';
import type { Limits, Media, SocialLine } from './_contract.ts';

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

const POLLS = 30;
/** Waits between two polls of media that the server processes: rising, up to 2 s. */
const pollMs = (poll: number) => Math.min(200 * (poll + 1), 2_000);
type Line = Pick<SocialLine, 'http' | 'clock'>;

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
    ...(media?.video_size_limit && { video: { ...limits.video, bytes: media.video_size_limit } }),
    ...(media?.supported_mime_types?.length && { mediaTypes: media.supported_mime_types }),
  };
}

async function instanceOf(http: Http): Promise<z.output<typeof Instance>> {
  return (
    (await http.find('/v2/instance', Instance)) ??
    (await http.find('/v1/instance', Instance)) ?? { configuration: null }
  );
}

/** Uploads the media, converted where the server would refuse their size, and waits until each is ready. */
export async function upload(line: Line, media: readonly Media[], path: string): Promise<string[]> {
  if (media.length === 0) return [];
  const { configuration } = await instanceOf(line.http);
  const limits = configuration?.media_attachments;
  const ids: string[] = [];
  for (const item of media) {
    const fitted = await item.fit({
      maxBytes: limits?.image_size_limit ?? undefined,
      maxPixels: limits?.image_matrix_limit ?? undefined,
      types: limits?.supported_mime_types ?? [item.contentType],
    });
    const most = item.contentType.startsWith('video/') ? limits?.video_size_limit : limits?.image_size_limit;
    if (!fitted && item.size > (most ?? Infinity))
      throw refused('rejected', `The server takes at most ${most} bytes: ${item.name} has ${item.size}`);
    ids.push(await uploaded(line, path, { file: fitted ?? item, description: item.alt || undefined }));
  }
  return ids;
}

async function uploaded({ http, clock }: Line, path: string, multipart: Multipart): Promise<string> {
  let attachment = await http.post(path, Attachment, { multipart });
  const { id } = attachment;
  for (let poll = 0; !attachment.url; poll += 1) {
    if (poll === POLLS) throw refused('unavailable', 'The server is still working on the media');
    await clock.sleep(pollMs(poll));
    attachment = await http.get(`/v1/media/${encodeURIComponent(id)}`, Attachment);
  }
  return id;
}
