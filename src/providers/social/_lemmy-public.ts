import { z } from 'zod';
import type { Operations } from './_contract.ts';
import { federatedHandle, localName } from './_handles.ts';
import { api } from './_lemmy-api.ts';
import { versionAt, type credentials } from './_lemmy-login.ts';

const count = z.number().nullish();
/** Version 3 tells the counts beside what is counted, version 4 inside it. */
const PersonCounts = z.object({ post_count: count, comment_count: count });
const PersonView = z.object({
  person_view: z.object({
    person: PersonCounts.extend({
      id: z.number(),
      name: z.string(),
      display_name: z.string().nullish(),
      avatar: z.string().nullish(),
    }),
    counts: PersonCounts.nullish(),
  }),
});
const CommunityCounts = z.object({ subscribers: count, posts: count, comments: count });
const CommunityView = z.object({
  community_view: z.object({
    community: CommunityCounts.extend({
      id: z.number(),
      name: z.string(),
      title: z.string().nullish(),
      icon: z.string().nullish(),
    }),
    counts: CommunityCounts.nullish(),
  }),
});
const Nobody = z.object({ error: z.enum(['couldnt_find_person', 'couldnt_find_community', 'not_found']) });

/** People, and communities, which Lemmy writes as `!name@server`. */
export const lemmyPublic = {
  publicProfile: {
    by: 'anyone',
    example: '!name@lemmy.example',
    read: (typed) => federatedHandle(typed, 'service', '@!'),
    async find({ http, values: { service }, handle }) {
      const version = await versionAt(http);
      const { at, person } = api({ api: version });
      const { host } = new URL(service);
      if (handle.startsWith('!')) {
        const query = { name: localName(handle) };
        const found = await http.find(`${at}/community`, CommunityView, { query, absent: Nobody });
        if (!found) return undefined;
        const { community, counts } = found.community_view;
        const { subscribers: followers, posts, comments } = counts ?? community;
        const { id, title, name, icon: picture } = community;
        return { id: `!${id}@${host}`, name: title || name, picture, counts: { followers, posts, comments } };
      }
      const query = { username: localName(handle) };
      const found = await http.find(at + person, PersonView, { query, absent: Nobody });
      if (!found) return undefined;
      const { person: one, counts } = found.person_view;
      const { post_count: posts, comment_count: comments } = counts ?? one;
      const { id, display_name: shown, name, avatar: picture } = one;
      return { id: `${id}@${host}`, name: shown || name, picture, counts: { posts, comments } };
    },
  },
} satisfies Operations<z.ZodType, typeof credentials>;
