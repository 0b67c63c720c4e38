import { z } from 'zod';
import type { NoteRow } from '../../../src/publishing/posts/index.ts';
import { keptAnswer } from '../../http/idempotency.ts';
import { ownOnly } from '../../http/own.ts';
import { routesOf } from '../../http/route.ts';

const route = routesOf('posts');

const Notes = z.array(
  z.strictObject({
    id: z.string(),
    content: z.string(),
    userId: z.string().nullable(),
    name: z.string().nullable(),
    createdAt: z.string(),
  }),
);
/** Review notes (S122), oldest first. */
const presentNotes = (rows: readonly NoteRow[]): z.input<typeof Notes> =>
  rows.map(({ id, content, userId, name, createdAt }) => ({
    id,
    content,
    userId,
    name,
    createdAt: createdAt.toISOString(),
  }));

export const noteRoutes = [
  route({
    method: 'get',
    path: '/posts/:id/comments',
    summary: 'List review notes of a post',
    description: 'What members say to each other, oldest first; no network sees it.',
    auth: ['session'],
    permission: 'posts:read',
    answer: Notes,
    handle: ({ rooms, principal, params }) => rooms.posts.listNotes(principal.orgId, params.id),
    present: presentNotes,
  }),
  route({
    method: 'post',
    path: '/posts/:id/comments',
    summary: 'Add a review note to a post',
    description: 'As plain text; answers all notes of the post.',
    auth: ['session'],
    impersonation: 'allowed',
    permission: 'posts:update',
    idempotent: true,
    creates: true,
    body: z.strictObject({
      content: z
        .string()
        .max(10_000)
        .refine((text) => text.trim() !== '', 'must not be empty'),
    }),
    answer: Notes,
    async handle({ rooms, principal, params, body, idempotency }) {
      const { orgId, userId } = principal;
      await ownOnly(principal, () => rooms.posts.findAuthor(orgId, params.id));
      const note = { userId, content: body.content };
      return rooms.posts.addNote(orgId, params.id, note, keptAnswer(idempotency, 201, presentNotes));
    },
    present: presentNotes,
  }),
];
