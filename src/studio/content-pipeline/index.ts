export { pipelineOutput } from './assemble.ts';
export { PipelineInput } from './deps.ts';
export { draftBody } from './drafts.ts';
export { type BegunPipeline, openContentPipeline, type PipelineRun } from './service.ts';
