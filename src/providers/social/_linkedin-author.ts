import type { Operations } from './_contract.ts';
import { companies, mention, type Settings } from './_linkedin.ts';
import { prepareMedia } from './_linkedin-media.ts';
import { findPosts, publishPost, removePost } from './_linkedin-posts.ts';

type Kind = 'person' | 'organization';
/** Names the member or the page that a call is made for. */
export const authoredBy =
  (kind: Kind) =>
  <C extends { account: string }>(call: C): C & { author: string } => ({
    ...call,
    author: `urn:li:${kind}:${call.account}`,
  });

/** Posts, which members and pages make alike. */
export function linkedinPosts(kind: Kind) {
  const authored = authoredBy(kind);
  return {
    prepare: (call) => prepareMedia(authored(call)),
    publish: (call) => publishPost(authored(call)),
    find: (call) => findPosts(authored(call)),
    remove: ({ http, published }) => removePost(http, published),
    mentions: ({ http, query }) => companies(http, query),
    mention,
  } satisfies Operations<typeof Settings>;
}
