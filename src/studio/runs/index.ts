export { STEP_STATES } from './contract.ts';
export type {
  ClaimedStep,
  NewRun,
  NewStep,
  Question,
  RoundEnd,
  RunEvent,
  RunRef,
  RunKind,
  RunRow,
  StepRow,
  StepState,
  StepTools,
} from './contract.ts';
export { faultOfSteps } from './rules.ts';
export { openAiRuns, type RunReads, type Runs } from './service.ts';
export { runsRetention } from './retention.ts';
export { aiTracesRetention, type TraceRow } from './traces.ts';
