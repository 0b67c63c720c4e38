import { organizationActor } from '../../actors/organization/contract.ts';
import type { Context } from '../../src/context.ts';
import { parse } from '../../src/platform/kernel/index.ts';
import { EditBody, type PostRow } from '../../src/publishing/posts/index.ts';
import type { Contents } from '../../src/studio/collaboration/index.ts';
import { changedFields, type Found, type Source, unlessGone, unlessOthersWereFirst } from './source.ts';

/** What the posts of a group have in common, in the words of an edit. */
const GroupSettings = EditBody.pick({ title: true, description: true, publishDate: true, tags: true });
type GroupSettings = Record<string, unknown>;

/** Of posts that differ the first one says what the document shows. */
const settingsOf = ({ title, description, publishDate, tags }: PostRow): GroupSettings => ({
  title,
  description,
  publishDate: publishDate.toISOString(),
  tags: tags.map(({ name, color }) => ({ label: name, color })),
});

/** The posts of a group: what is said of them together is changed in all of them, or in none. */
export function groupSource(
  { posts, actors }: Pick<Context, 'posts' | 'actors'>,
  orgId: string,
  group: string,
): Source {
  const roots = async (): Promise<PostRow[]> => {
    const rows = (await unlessGone(posts.getGroup(orgId, group))) ?? [];
    return rows.filter(({ rootPostId }) => rootPostId === null);
  };
  return {
    roots: ['settings'],
    async read(): Promise<Found | undefined> {
      const rows = await roots();
      const [first] = rows;
      if (!first) return undefined;
      const revisions = await posts.findRevisions(rows.map(({ id }) => ({ orgId, postId: id })));
      return {
        contents: { content: '', settings: settingsOf(first), media: [] },
        version: rows.map(({ id, version }) => `${id}:${version}`).join(),
        closed: revisions.every((revision) => revision?.isOpen) ? null : 'published',
      };
    },
    async prepare(wanted: Contents, agreed: Contents, now, by) {
      const sent = changedFields(wanted.settings, agreed.settings);
      const body = parse(GroupSettings, sent);
      const versions = new Map(now.version.split(',').map((one) => one.split(':') as [string, string]));
      const edits = await Promise.all(
        [...versions].map(async ([postId, version]) => {
          const options = { userId: by?.userId ?? '', merge: false, version: Number(version) };
          const change = await posts.prepareEdit(orgId, postId, body, options);
          return { postId, change: { ...change, ...(by && { by }) } };
        }),
      );
      return {
        contents: { content: '', settings: { ...now.contents.settings, ...sent }, media: [] },
        commit: () =>
          unlessOthersWereFirst(
            actors(organizationActor, orgId).admit({
              posts: [],
              edits,
              createdBy: by?.userId ?? null,
              schedulesFreely: by?.schedulesFreely ?? false,
            }),
          ),
      };
    },
  };
}
