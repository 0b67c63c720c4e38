import { isIP } from 'node:net';
import type { Config } from '../../src/platform/config/index.ts';
import { AppError } from '../../src/platform/kernel/index.ts';
import type { Exchange } from './exchange.ts';

/** The refusal of a request without a host; what follows on its connection is not read. */
export function noHost({ headers }: Exchange): AppError {
  headers['connection'] = 'close'; // what follows on it cannot be trusted either
  return new AppError('invalid_request', 'The header Host is missing: name this service in it');
}

/**
 * Outside production only names of this machine, its addresses and the configured hosts are answered: a page that lets
 * its own name lead to
 * 127.0.0.1 is somebody else, whatever it is called (DNS rebinding).
 */
export function hostCheck({ production, http }: Config): (host: string | undefined) => void {
  if (production) return () => {};
  const urls = [http.frontendUrl, http.mainUrl, http.adminUrl, http.backendUrl, http.internalUrl];
  const known = new Set(urls.map((url) => URL.parse(url ?? '')?.hostname));
  return (host) => {
    const name = host === undefined ? undefined : URL.parse(`http://${host}`)?.hostname;
    const isOurs =
      host === undefined ||
      (name !== undefined &&
        (known.has(name) || isIP(name.replace(/^\[|\]$/g, '')) > 0 || /^(.+\.)?localhost$/.test(name)));
    if (!isOurs)
      throw new AppError(
        'forbidden',
        'The host is not one of this service: use that of NEXT_PUBLIC_BACKEND_URL or FRONTEND_URL',
      );
  };
}
