import type { KeyObject } from 'node:crypto';
import type { Clock } from '../../../platform/kernel/index.ts';
import { refused } from '../declare/fallback.ts';
import type { Fetch } from '../wire/fetch.ts';
import { keyOfCertificate } from './signatures.ts';

const MOST = 8;
const KEPT_MS = 3_600_000;

/**
 * Answers the public key of the certificate (PEM) at an address that the caller has checked: cached for an hour,
 * fetched once for concurrent callers. Undefined when the answer is not a certificate that is valid now; throws
 * `ProviderError` (`unavailable`) when the server does not answer.
 */
export function openCertificates(fetch: Fetch, clock: Clock): (url: string) => Promise<KeyObject | undefined> {
  const known = new Map<string, { until: number; key: Promise<KeyObject | undefined> }>();

  async function load(url: string): Promise<KeyObject | undefined> {
    const answer = await fetch(url, { method: 'GET', headers: { accept: '*/*' } }).catch(() => undefined);
    if (!answer || answer.status >= 500)
      throw refused('unavailable', 'The certificate that signs events cannot be read now');
    return answer.status === 200 ? keyOfCertificate(await answer.text(), clock.now()) : undefined;
  }

  return async (url) => {
    const found = known.get(url);
    if (found && found.until > clock.monotonic()) return found.key;
    known.delete(url);
    if (known.size >= MOST) known.delete(known.keys().next().value!);
    const key = load(url);
    known.set(url, { until: clock.monotonic() + KEPT_MS, key });
    const drop = () => known.get(url)?.key === key && known.delete(url);
    void key.then((one) => one ?? drop(), drop);
    return key;
  };
}
