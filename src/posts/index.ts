export { Create, NewPost, PostChange, PostMedia } from './input.ts';
