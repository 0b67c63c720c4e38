export { type CommentRow, commentsRetention } from './inbox-store.ts';
export { type Comments, openComments } from './service.ts';
