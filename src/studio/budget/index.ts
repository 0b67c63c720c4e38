export { BudgetRefusal, type BudgetRules, costTold, ODD_FACTOR } from './rules.ts';
export { type Budget, openBudget, type Reservation } from './service.ts';
export { type CallKey, copyProgramDay } from './store.ts';
