import type { OutboundProxy, ProxyFault } from './contract.ts';

/** Why a proxy made no connection, in words for people. Nothing was sent. */
export class ProxyFailure extends Error {
  override readonly name = 'ProxyFailure';
  readonly fault: ProxyFault;

  constructor({ label }: Pick<OutboundProxy, 'label'>, fault: ProxyFault, what: string, options?: ErrorOptions) {
    super(`the route “${label}” ${what}`, options);
    this.fault = fault;
  }
}
