import { AwsV4Signer } from 'aws4fetch';

export interface AwsAccess {
  accessKeyId: string;
  secretAccessKey: string;
  /** Empty for permanent keys. */
  sessionToken: string;
  region: string;
}

/**
 * Answers the headers that sign one request to an AWS service (Signature Version 4): date, authorization, and the token
 * of temporary keys.
 */
export async function signAws(
  { accessKeyId, secretAccessKey, sessionToken, region }: AwsAccess,
  { service, method, url, body, now }: { service: string; method: string; url: string; body?: string; now: Date },
): Promise<Record<string, string>> {
  const signer = new AwsV4Signer({
    accessKeyId,
    secretAccessKey,
    ...(sessionToken !== '' && { sessionToken }),
    region,
    service,
    method,
    url,
    ...(body !== undefined && { body }),
    datetime: now.toISOString().replace(/[:-]|\.\d{3}/g, ''),
  });
  return Object.fromEntries((await signer.sign()).headers);
}
