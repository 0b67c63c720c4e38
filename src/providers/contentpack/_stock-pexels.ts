import { z } from 'zod';
import {
  DAY_MS,
  Download,
  HOUR_MS,
  Id,
  itemIdOf,
  type Item,
  type Kind,
  PAGE,
  readItemId,
  stockSource,
  Web,
  Words,
} from './_contract.ts';
import { secret } from '../kit/declare/fields.ts';

const Photo = z.object({
  id: Id,
  url: Web,
  photographer: Words,
  photographer_url: Web,
  alt: Words,
  src: z.object({ medium: Web, original: Download }),
});
const Video = z.object({
  id: Id,
  url: Web,
  image: Web,
  user: z.object({ name: Words, url: Web }),
  video_files: z.array(z.object({ file_type: z.string(), width: z.int().nullish(), link: Download })),
});
const Photos = z.object({ photos: z.array(Photo), next_page: z.string().nullish() });
const Videos = z.object({ videos: z.array(Video), next_page: z.string().nullish() });

interface Credited {
  id: string;
  title: string | null;
  preview: string | null;
  url: string | null;
  author: string | null;
  authorUrl: string | null;
}
const itemOf = (kind: Kind, { id, title, author, ...rest }: Credited): Item => {
  const word = kind === 'video' ? 'Video' : 'Photo';
  return {
    ...rest,
    id: itemIdOf(kind, id),
    title: title ?? word,
    author,
    licence: 'Pexels License',
    licenceUrl: 'https://www.pexels.com/license/',
    credit: `${word} by ${author ?? 'an unknown person'} on Pexels`,
  };
};
const photoOf = ({ id, url, alt, photographer, photographer_url, src }: z.output<typeof Photo>) =>
  itemOf('image', { id, title: alt, preview: src.medium, url, author: photographer, authorUrl: photographer_url });
const videoOf = ({ id, url, image, user }: z.output<typeof Video>) =>
  itemOf('video', { id, title: null, preview: image, url, author: user.name, authorUrl: user.url });

const FULL_HD = 1_920;
/** Chooses the largest MP4 up to Full HD, else the smallest. */
function fileOf({ video_files: files }: z.output<typeof Video>): string | undefined {
  const videos = files
    .filter(({ file_type }) => file_type === 'video/mp4')
    .toSorted((a, b) => (b.width ?? 0) - (a.width ?? 0));
  return (videos.find(({ width }) => (width ?? 0) <= FULL_HD) ?? videos.at(-1))?.link;
}

export const pexels = stockSource({
  id: 'pexels',
  version: 'v1',
  title: 'Pexels',
  description: 'Free photos and videos.',
  website: 'https://www.pexels.com',
  authType: 'api_key',
  credentials: { apiKey: secret('API key') },
  api: 'https://api.pexels.com',
  auth: { in: 'header', name: 'authorization', prefix: '', field: 'apiKey' },
  errors: { 403: 'reauthorize' },
  kinds: ['image', 'video'],
  rates: [
    { requests: 200, perMs: HOUR_MS },
    { requests: 20_000, perMs: 30 * DAY_MS },
  ],
  connect: ({ http }) => ({
    async search({ q, kind, page }) {
      const query = { query: q, page: String(page), per_page: String(PAGE) };
      if (kind === 'video') {
        const { videos, next_page } = await http.get('/v1/videos/search', Videos, { query });
        return { items: videos.map(videoOf), more: !!next_page };
      }
      const { photos, next_page } = await http.get('/v1/search', Photos, { query });
      return { items: photos.map(photoOf), more: !!next_page };
    },
    async acquire(given) {
      const { kind, id } = readItemId(given);
      if (kind === 'video') {
        const video = await http.find(`/v1/videos/videos/${id}`, Video);
        const download = video && fileOf(video);
        return download === undefined ? undefined : { item: videoOf(video!), download };
      }
      const photo = await http.find(`/v1/photos/${id}`, Photo);
      return photo && { item: photoOf(photo), download: photo.src.original };
    },
  }),
});
