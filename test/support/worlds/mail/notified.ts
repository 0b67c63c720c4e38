import { openEmbeddedBus } from '../../../../src/platform/actor-runtime/embedded/bus.ts';
import type { Context } from '../../../../src/context.ts';
import type { Sql } from '../../../../src/platform/db/index.ts';
import { newId, systemClock } from '../../../../src/platform/kernel/index.ts';
import {
  append,
  type Listener,
  type NewFact,
  type Payload,
  startListeners,
} from '../../../../src/platform/outbox/index.ts';
import { Client, type SignedUp, testApp, WITH_MAIL } from '../app.ts';
import { mailsOf } from './mails.ts';
import { quietLog } from '../quiet-log.ts';
import { testDatabase } from '../../wire/database.ts';
import { eventually } from '../../wire/eventually.ts';

/** Push that is queued and never sent: the key is none. */
const WITH_PUSH = { FCM_PROJECT_ID: 'p', FCM_CLIENT_EMAIL: 'push@example.com', FCM_PRIVATE_KEY: 'none' };

type Ways = { email?: boolean; push?: boolean; inApp?: boolean };
interface Wishes {
  master?: Ways;
  categories?: Record<string, Ways>;
  digest?: string;
  quietHours?: { from: string; to: string } | null;
}

/** The payload of a fact of a post. */
export const postPayload = (
  createdBy: string | null,
  more: Partial<Payload<'post.published'>> = {},
): Payload<'post.published'> => ({
  channelId: newId(),
  providerId: 'sandbox',
  channelName: 'Acme',
  createdBy,
  rootPostId: null,
  groupId: 'g',
  content: '<p>Hello world</p>',
  publishDate: '2026-01-01T00:00:00Z',
  url: 'https://example.com/1',
  ...more,
});

/** People of one organization who are told of facts, with mail that is queued and never sent. */
export async function notified({
  env = {},
  ...parts
}: { env?: Record<string, string> } & Pick<Parameters<typeof testApp>[0], 'network' | 'clock' | 'servers'> = {}) {
  await using opened = new AsyncDisposableStack();
  const db = opened.use(await testDatabase());
  const { sql } = db;
  const plain = opened.use(await testApp({ sql })); // without mail people are active at once
  const app = opened.use(await testApp({ sql, env: { ...WITH_MAIL, ...WITH_PUSH, ...env }, ...parts }));
  const product = app.context.listeners.find(({ name }) => name === 'notifications')!;
  await plain.signUp(); // the super-admin

  const signUp = async (): Promise<SignedUp> => {
    const person = await plain.signUp();
    const client = new Client(app.address);
    person.client.cookies.forEach((value, name) => client.cookies.set(name, value));
    return { ...person, client };
  };
  const owner = await signUp();
  const { orgId } = owner;
  const context: Context = app.context;
  const end = opened.move();
  return {
    app,
    db,
    sql,
    context,
    owner,
    orgId,
    listener: product,
    signUp,
    /** A new user who is a member, and acts for this organization. */
    async member(roleKey: string, org = orgId) {
      const person = await signUp();
      await sql`insert into memberships (org_id, user_id, role_key) values (${org}, ${person.userId}, ${roleKey})`;
      await sql`delete from memberships where org_id = ${person.orgId} and user_id = ${person.userId}`;
      return { ...person, orgId: org };
    },
    /** Lets the listener hear facts, and all that wait before them. */
    async hear(facts: readonly NewFact[], listener: Listener = product) {
      await append(sql, facts);
      await using _ = startListeners({
        sql,
        clock: systemClock,
        bus: openEmbeddedBus({ clock: systemClock, log: quietLog() }),
        listeners: [listener],
        holder: newId(),
        log: app.log,
        lookMs: 10,
        leaseSeconds: 1,
      });
      await eventually('all facts are heard', async () => (await sql`select from outbox limit 1`).length === 0);
      const refused = await sql`select error from outbox_refused`;
      if (refused.length > 0) throw new Error(`A fact was set aside: ${String(refused[0]!['error'])}`);
    },
    published: (createdBy: string | null, more: Partial<Payload<'post.published'>> = {}): NewFact => ({
      orgId,
      topic: 'post.published',
      entityId: newId(),
      payload: postPayload(createdBy, more),
    }),
    rowsOf: ({ userId }: { userId: string }) =>
      sql<{ category: string; title: string; content: string; link: string | null }[]>`
        select category, title, content, link
        from notifications
        where user_id = ${userId}
        order by seq`,
    mailsTo: async ({ email }: { email: string }) =>
      (await mailsOf(context, email)).flatMap(({ content, orgId: org }) =>
        content.template === 'notification' ? [{ ...content.data, orgId: org }] : [],
      ),
    /** Registers a device of somebody. */
    async device({ client }: { client: Client }, token: string = newId()) {
      const { status, text } = await client.post('/notifications/push-tokens', { token, platform: 'android' });
      if (status !== 201) throw new Error(text);
      return token;
    },
    pushesTo: ({ userId }: { userId: string }) =>
      sql<{ category: string; title: string; content: string; link: string | null }[]>`
        select p.category, p.title, p.content, p.link
        from pushes p
        join push_tokens t on t.id = p.token_id
        where t.user_id = ${userId}
        order by p.created_at, p.id`,
    wish: async ({ client }: { client: Client }, wishes: Wishes) => {
      const { status, text } = await client.put('/notifications/preferences', wishes);
      if (status !== 200) throw new Error(text);
    },
    /** Lets every open window be due, and closes them as the sweep does. */
    async closeWindows(due: (tx: Sql) => unknown = (tx) => tx`update notification_windows set due_at = now()`) {
      await due(sql);
      await context.sweeps.find(({ name }) => name === 'notification-windows')!.run(500);
    },
    forgetMails: () => sql`delete from emails`,
    [Symbol.asyncDispose]: () => end.disposeAsync(),
  };
}
export type Notified = Awaited<ReturnType<typeof notified>>;
