export { providerFailureOf, firstAnswer } from './chain.ts';
export { type AiCandidate, type Candidate, type MediaCandidate, mediaModelOf, type WantedModel } from './resolve.ts';
export { type Models, openModels, type UsableModel } from './service.ts';
