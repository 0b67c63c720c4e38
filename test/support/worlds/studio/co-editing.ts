import { newId } from '../../../../src/platform/kernel/index.ts';
import { type CoEditor, openCoEditor } from '../../wire/co-editor.ts';
import { settles } from '../../wire/settles.ts';
import type { SignedUp } from '../app.ts';
import { element, later, openPostRoutes } from '../publishing/post-routes.ts';

/** The product with drafts that are written together. */
export async function openCoEditing(options: Parameters<typeof openPostRoutes>[0] = {}) {
  const routes = await openPostRoutes(options);
  const { app, ann, channel, db, key } = routes;
  const open: CoEditor[] = [];

  const draft = (content = '<p>Hello</p>', more: object = {}): Promise<string> =>
    routes.made({ type: 'draft', date: later(), posts: [element(channel, content, more)] });
  /** Opens a room as the key of its owner, unless told otherwise. */
  function join(room: string, more: Parameters<typeof openCoEditor>[2] = {}, address = app.address): CoEditor {
    const editor = openCoEditor(address, room, { headers: { authorization: key.key }, ...more });
    open.push(editor);
    return editor;
  }
  /** The same, once it has the document. */
  async function joined(room: string, more: Parameters<typeof openCoEditor>[2] = {}, address = app.address) {
    const editor = join(room, more, address);
    await Promise.race([
      editor.synced,
      editor.closed.then(({ code, reason }) => Promise.reject(new Error(`closed: ${code} ${reason}`))),
    ]);
    return editor;
  }
  /** Somebody with a role in the organization. */
  async function member(role: string): Promise<SignedUp & { key: string }> {
    const person = await app.signUp();
    await db.sql`insert into memberships (org_id, user_id, role_key) values (${ann.orgId}, ${person.userId}, ${role})`;
    person.client.headers['showorg'] = ann.orgId;
    const program = await person.withKey();
    return { ...person, key: program.key };
  }
  /** A draft of somebody. */
  async function draftOf(userId: string | null): Promise<string> {
    const id = newId();
    await db.sql`
      insert into posts (id, org_id, channel_id, group_id, state, content, content_clean, publish_date, created_by)
      values (${id}, ${ann.orgId}, ${channel}, ${id}, 'DRAFT', '<p>Hello</p>', true, now() + interval '1 day', ${userId})`;
    return id;
  }
  const contentOf = async (id: string): Promise<string> =>
    (await db.sql<{ content: string }[]>`select content from posts where id = ${id}`)[0]!.content;
  const holds = (id: string, content: string) =>
    settles(async () => {
      const found = await contentOf(id);
      if (found !== content) throw new Error(`The post holds ${found}`);
    });
  const stored = async (room: string) =>
    (
      await db.sql<{ state: Buffer; version: number }[]>`
        select state, version from collaboration_documents where room = ${room}`
    )[0];

  return {
    ...routes,
    draft,
    draftOf,
    join,
    joined,
    member,
    contentOf,
    holds,
    stored,
    async close() {
      for (const editor of open) editor.socket.terminate();
      await routes.close();
    },
  };
}
