export { neighboursListener } from './listen.ts';
