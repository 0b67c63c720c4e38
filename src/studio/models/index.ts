export { providerFailureOf, firstAnswer } from './chain.ts';
export type { AiCandidate, Candidate, MediaCandidate, WantedModel } from './resolve.ts';
export { type Models, openModels, type UsableModel } from './service.ts';
