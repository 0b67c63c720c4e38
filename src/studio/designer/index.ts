export { type Designer, openDesigner } from './service.ts';
export { DesignPlan, wordsOfPlan } from './plan.ts';
export { type DesignerSession, SESSION_STATES, SessionWish } from './session.ts';
