import { z } from 'zod';
import { singleLine } from '../kit/declare/setting-texts.ts';
import type { Http } from '../kit/wire/http.ts';
import { Canonical, Title, withPictures } from './_articles.ts';
import { WITHOUT_FILES } from './_bounds.ts';
import type { Media, Operations, Repost } from './_contract.ts';
import { fitted, uploadEach } from './_files.ts';
import { Absent, api, commentAt, CommentReply, imageAt, postAt, PostReply } from './_lemmy-api.ts';
import type { credentials } from './_lemmy-login.ts';
import { idHere, ownComments, ownPosts } from './_lemmy-reading.ts';
import { addressOf } from './_shared.ts';

export const IMAGE_TYPES = ['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/avif'];
/** Greatest number of characters of an alternative text. */
const ALT = 1_500;

const Target = z.looseObject({
  id: z.union([z.string().regex(/^\d{1,18}$/), z.int().positive()]).transform(Number),
  subreddit: singleLine(500).optional(),
  title: Title(200, 3),
  url: Canonical,
});
// one post has one community: its answer names one id
export const Settings = z.looseObject({
  subreddit: z.tuple([z.looseObject({ value: Target })], 'name one community: each post goes to one'),
});
/** Addresses of the pictures that the server has. */
const Saved = z.object({ images: z.array(z.string()) }).catch({ images: [] });

/** The alternative text in one line, cut to what Lemmy takes. */
const altOf = (file?: Media): string =>
  Array.from((file?.alt ?? '').replace(/\s+/g, ' ').trim())
    .slice(0, ALT)
    .join('');

async function uploaded(http: Http, values: { service: string }, item: Media): Promise<string> {
  const file = await fitted(item, { types: IMAGE_TYPES });
  return http.post(api(values).image, imageAt(values.service), { multipart: { 'images[]': file } });
}

/** Where a post is repeated: a post of its own, with its own title, in one community. */
const targetOf = ({ fields = {} }: Repost) => ({
  id: Number(fields['community']),
  title: (fields['title'] ?? '').trim(),
});

/** Posts of a community, and comments. */
export const lemmyPosts = {
  prepare: ({ http, values, post, saved, save }) =>
    uploadEach(
      post.media,
      Saved.parse(saved).images,
      (file) => uploaded(http, values, file),
      (images) => save({ images }),
    ),
  async publish({ http, values, post, settings, saved }) {
    const { title: name, url, id } = settings.subreddit[0].value;
    const { images } = Saved.parse(saved);
    const inBody = url ? 0 : 1; // from this picture on: the first one is the link of a post that has no other
    const picture = url ? undefined : images[0];
    const alt = altOf(post.media[0]);
    const body = withPictures({ text: post.text, media: post.media.slice(inBody) }, images.slice(inBody));
    const { post_view: made } = await http.post(`${api(values).at}/post`, PostReply, {
      json: {
        name,
        community_id: id,
        ...(url ? { url } : picture && { url: picture, ...(alt !== '' && { alt_text: alt }) }),
        ...(body !== '' && { body }),
      },
      creates: true,
    });
    return postAt(values.service, made.id);
  },
  find: ({ settings, saved, ...call }) =>
    ownPosts({ ...call, target: settings.subreddit[0].value, images: Saved.parse(saved).images }),
  async remove({ http, values, published: { id } }) {
    const json = { post_id: Number(id), deleted: true };
    if (api(values).at === '/api/v4') await http.delete('/api/v4/post', { json });
    else await http.find('/api/v3/post/delete', z.unknown(), { json, absent: Absent });
  },
  comment: {
    once: 'read-back',
    replies: true,
    limits: WITHOUT_FILES,
    async send({ http, values, published, parent, post }) {
      const { comment_view: made } = await http.post(`${api(values).at}/comment`, CommentReply, {
        json: {
          content: post.text,
          post_id: await idHere({ http, values }, published),
          ...(parent && { parent_id: Number(parent.id) }),
        },
        creates: true,
      });
      return commentAt(values.service, made.id);
    },
    find: (call) => ownComments(call),
  },
  repost: {
    once: 'read-back',
    async send({ http, values, repost }) {
      const { id, title: name } = targetOf(repost);
      const json = { name, community_id: id, url: addressOf(repost.published) };
      const { post_view: made } = await http.post(`${api(values).at}/post`, PostReply, { json, creates: true });
      return postAt(values.service, made.id);
    },
    find: ({ repost, ...call }) => ownPosts({ ...call, target: targetOf(repost), images: [] }),
  },
} satisfies Operations<typeof Settings, typeof credentials>;
