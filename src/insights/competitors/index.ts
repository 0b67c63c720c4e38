import { bind } from '../../platform/kernel/index.ts';
import * as authoring from './authoring.ts';
import type { CompetitorsDeps } from './deps.ts';
import * as reading from './reading.ts';
export type { CompetitorDay, CompetitorRow } from './store.ts';

export type Competitors = ReturnType<typeof openCompetitors>;

/** Opens the accounts of others that organizations watch. */
export const openCompetitors = (deps: CompetitorsDeps) => ({ ...bind(deps, authoring), ...bind(deps, reading) });
