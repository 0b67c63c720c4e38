export type { CommentRow } from './inbox-store.ts';
export { type Comments, openComments } from './service.ts';
