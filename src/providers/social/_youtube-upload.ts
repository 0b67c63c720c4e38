import { z } from 'zod';
import { singleLine } from '../kit/declare/setting-texts.ts';
import { contentRanges } from '../kit/protocols/upload/session-forms.ts';
import type { Http } from '../kit/wire/http.ts';
import { FileSetting, TagList } from './_articles.ts';
import type { Post, Published } from './_contract.ts';
import type { VideoSession } from './_video-session.ts';

const RANGE_BYTES = 8 * 1024 * 1024;
const TAG_CHARACTERS = 500;
export const Video = z.object({ id: z.string() });

export const Settings = z.looseObject({
  title: singleLine(100, 2),
  type: z.enum(['public', 'unlisted', 'private']).default('public'),
  selfDeclaredMadeForKids: z.enum(['yes', 'no']).optional(),
  thumbnail: FileSetting,
  tags: TagList(singleLine(TAG_CHARACTERS, 1), `a tag has at most ${TAG_CHARACTERS} characters`)
    .max(TAG_CHARACTERS)
    .refine((tags) => tags.reduce((sum, tag) => sum + tag.length + (tag.includes(' ') ? 2 : 0), 0) <= TAG_CHARACTERS, {
      message: `all tags together are longer than ${TAG_CHARACTERS} characters`,
    })
    .optional(),
});

export const published = (id: string): Published => ({
  id,
  url: `https://www.youtube.com/watch?v=${encodeURIComponent(id)}`,
});
/** YouTube refuses angle brackets in titles and descriptions. */
export const written = (text: string) => text.replaceAll('<', '‹').replaceAll('>', '›');

/** The upload of the video of a post, to a session that knows its title and description. */
export const videoUpload = ({
  http,
  post,
  settings,
}: {
  http: Http;
  post: Post;
  settings: z.output<typeof Settings>;
}): VideoSession<{ id: string }> => {
  const file = post.media[0]!; // `needsMedia`
  const { title, type, tags, selfDeclaredMadeForKids: forKids } = settings;
  const json = {
    snippet: { title: written(title), description: written(post.text), ...(tags?.length && { tags }) },
    status: {
      privacyStatus: type,
      ...(forKids !== undefined && { selfDeclaredMadeForKids: forKids === 'yes' }),
    },
  };
  const location = z.object({ headers: z.object({ location: z.url() }) }).transform(({ headers }) => headers.location);
  const begin = () =>
    http.post('/upload/youtube/v3/videos', location, {
      query: { uploadType: 'resumable', part: 'id,snippet,status' },
      headers: { 'x-upload-content-length': String(file.size), 'x-upload-content-type': file.contentType },
      json,
      replyHeaders: ['location'],
    });
  const protocol = contentRanges({ begin, rangeBytes: RANGE_BYTES, result: Video });
  return { file, protocol, lastFrom: file.size - RANGE_BYTES };
};
