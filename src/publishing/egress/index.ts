export { type RouteChoice, choiceOf, choiceText } from './rules.ts';
export { type Egress, openEgress, type Overview } from './service.ts';
export type { RouteRow } from './store.ts';
