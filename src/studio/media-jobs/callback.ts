import { equalSecrets, hmacHex, isId } from '../../platform/kernel/index.ts';
import { isReachableFromOutside } from '../../platform/outbound/index.ts';
import { notFound } from '../../platform/kernel/index.ts';
import type { MediaJobsDeps } from './deps.ts';
import { pollNow } from './store.ts';

const signatureOf = (signingKey: string, id: string): string => hmacHex(signingKey, `callback ${id}`).slice(0, 48);

/** Where the provider can say that a job is done; undefined where nobody outside can reach this service. */
export function callbackUrlOf(
  { backendUrl, signingKey }: Pick<MediaJobsDeps, 'backendUrl' | 'signingKey'>,
  id: string,
): string | undefined {
  const url = `${backendUrl}/files/jobs/callback/${id}.${signatureOf(signingKey, id)}`;
  return isReachableFromOutside(url) ? url : undefined;
}

/**
 * A provider says that there is news of a job. It makes the next poll come now and nothing else, so what it says is not
 * read; 404 for a token that was not given out.
 */
export async function hearCallback(
  { sql, signingKey, wake }: Pick<MediaJobsDeps, 'sql' | 'signingKey' | 'wake'>,
  token: string,
): Promise<void> {
  const [id = '', signature = ''] = token.split('.');
  if (!isId(id) || !equalSecrets(token, `${id}.${signatureOf(signingKey, id)}`) || signature === '') throw notFound();
  await pollNow(sql, id);
  wake();
}
