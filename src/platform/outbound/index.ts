export { parseAddress } from '../kernel/index.ts';
export {
  type Outbound,
  type OutboundAnswer,
  OutboundError,
  type OutboundFailure,
  type OutboundHead,
  type OutboundRequest,
  type OutboundStream,
  type OutboundProxy,
  type ProxyFault,
  type EgressRoute,
  type UploadLimits,
} from './contract.ts';
export { isReachableFromOutside } from './guard.ts';
export { type Network, openOutbound } from './open.ts';
export { until } from './until.ts';
