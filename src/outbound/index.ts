export { type Outbound, type OutboundAnswer, OutboundError, type OutboundFailure, type OutboundHead, type OutboundRequest, type OutboundStream } from './contract.ts';
