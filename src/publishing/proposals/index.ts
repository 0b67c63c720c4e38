export { rootIdsOf, withProposalIds } from './rules.ts';
export { openProposals, type Proposals } from './service.ts';
export { type ProposalRow, type ProposalStatus, PROPOSAL_STATUSES } from './store.ts';
