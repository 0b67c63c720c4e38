import { createHmac } from 'node:crypto';
import { hmacHex } from '../../platform/kernel/index.ts';

export interface Signing {
  /**
   * One for all organizations: whoever knows it can sign for each of them, so receivers check by a secret of their own.
   */
  deploymentKey: string;
  /** The webhook's own `whsec_` secrets, newest first. */
  secrets: readonly string[];
}
export interface DeliveryToSign {
  id: string;
  body: string;
  /** Of this attempt. */ at: Date;
  seq?: number | undefined;
}

/** `whsec_` and the base64 of the key bytes. */
const keyOf = (secret: string): Buffer => Buffer.from(secret.replace(/^whsec_/, ''), 'base64');

/** The headers of a signed delivery (WH25). */
export function signedHeaders(
  { id, body, at, seq }: DeliveryToSign,
  { deploymentKey, secrets }: Signing,
): Record<string, string> {
  const timestamp = String(Math.floor(at.getTime() / 1_000));
  const own = secrets.map(
    (secret) => `v1,${createHmac('sha256', keyOf(secret)).update(`${id}.${timestamp}.${body}`).digest('base64')}`,
  );
  return {
    'Content-Type': 'application/json',
    'X-Service-Signature': `sha256=${hmacHex(deploymentKey, body)}`,
    'User-Agent': 'service-webhooks/1',
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    ...(own.length > 0 && { 'webhook-signature': own.join(' ') }),
    ...(seq !== undefined && { 'webhook-seq': String(seq) }),
  };
}
/** Those that a receiver which redirects to another origin needs there, too. */
export const CARRIED = ['X-Service-Signature', 'webhook-id', 'webhook-timestamp', 'webhook-signature', 'webhook-seq'];
