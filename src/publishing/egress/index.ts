export { EgressShape, presentEgress, presentHealth, RouteHealth } from './present.ts';
export { type Choice, choiceOf } from './rules.ts';
export { type Egress, openEgress } from './service.ts';
