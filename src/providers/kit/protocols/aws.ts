import { AwsV4Signer } from 'aws4fetch';
import { createHash } from 'node:crypto';
import type { Body } from '../declare/media.ts';

export interface AwsAccess {
  accessKeyId: string;
  secretAccessKey: string;
  /** Empty for permanent keys. */
  sessionToken: string;
  region: string;
}

interface Signed {
  service: string;
  method: string;
  url: string;
  /** One that is read while it is sent is read for its hash, too. */
  body?: string | Body;
  now: Date;
}

/**
 * Answers the headers that sign one request to an AWS service (Signature Version 4): date, authorization, and the token
 * of temporary keys.
 */
export async function signAws(
  { accessKeyId, secretAccessKey, sessionToken, region }: AwsAccess,
  { service, method, url, body, now }: Signed,
): Promise<Record<string, string>> {
  const signer = new AwsV4Signer({
    accessKeyId,
    secretAccessKey,
    ...(sessionToken !== '' && { sessionToken }),
    region,
    service,
    method,
    url,
    ...(typeof body === 'string' && { body }),
    ...(typeof body === 'object' && { headers: { 'x-amz-content-sha256': await sha256Of(body) } }),
    datetime: now.toISOString().replace(/[:-]|\.\d{3}/g, ''),
  });
  return Object.fromEntries((await signer.sign()).headers);
}

async function sha256Of(body: Body): Promise<string> {
  const hash = createHash('sha256');
  for await (const piece of body.open()) hash.update(piece);
  return hash.digest('hex');
}
