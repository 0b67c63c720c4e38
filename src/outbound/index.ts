export {
  type Outbound,
  type OutboundAnswer,
  OutboundError,
  type OutboundFailure,
  type OutboundHead,
  type OutboundRequest,
  type OutboundStream,
} from './contract.ts';
export { openOutbound, type OutboundOptions } from './open.ts';
