import { openOutbound, type OutboundError } from '../../../src/platform/outbound/index.ts';
import { type Connector, socketConnector } from '../../../src/platform/outbound/pools.ts';
import { makeCertificate } from '../wire/certificate.ts';
import { startReceiver } from '../wire/receiver.ts';

/**
 * A way out that allows nothing private (`strict`) and one that allows loopback (`local`), with names that a test sets,
 * and a receiver behind four of them. Beneath the guard loopback passes, and all else is refused and recorded, so that
 * nothing can leave.
 */
export async function openGuarded() {
  const tls = makeCertificate(['hook.test', 'other.test', 'turn.test', 'rebind.test']);
  const receiver = await startReceiver({ tls });
  /** Hosts that the guard let pass. */
  const beyond: string[] = [];
  const beneath = (authorities: string[]): Connector => {
    const real = socketConnector(authorities);
    return (options, callback) => {
      if (options.hostname === '127.0.0.1' || options.hostname === '::1') return real(options, callback);
      beyond.push(options.hostname);
      callback(new Error('refused by the test'), null);
    };
  };
  const names: Record<string, string[] | (() => string[])> = {};
  const resolver = async (name: string) => {
    const answer = names[name];
    if (!answer) throw new Error(`ENOTFOUND ${name}`);
    return typeof answer === 'function' ? answer() : answer;
  };
  const open = (allowedPrivateCidrs: string[]) =>
    openOutbound({ timeoutMs: 30_000, allowedPrivateCidrs, resolver, connector: beneath([tls.cert]) });
  const [strict, local] = [open([]), open(['127.0.0.1/32'])];
  return {
    tls,
    receiver,
    beyond,
    beneath,
    names,
    resolver,
    strict,
    local,
    /** For each test: nothing was asked, and every request is answered. */
    reset() {
      beyond.length = 0;
      receiver.ledger.length = 0;
      receiver.answer = (response) => void response.writeHead(200).end('ok');
      for (const name of Object.keys(names)) delete names[name];
      names['hook.test'] = ['127.0.0.1'];
      names['other.test'] = ['127.0.0.1'];
    },
    at: (path: string, name = 'hook.test') => `https://${name}:${receiver.port}${path}`,
    [Symbol.asyncDispose]: async () =>
      void (await Promise.all([strict, local, receiver].map((one) => one[Symbol.asyncDispose]()))),
  };
}

/** The error of a request that has to fail. */
export const failed = (promise: Promise<unknown>): Promise<OutboundError> =>
  promise.then(
    () => {
      throw new Error('the request was answered');
    },
    (error: unknown) => error as OutboundError,
  );
