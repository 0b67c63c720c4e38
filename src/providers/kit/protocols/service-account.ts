import { createPrivateKey, createSign } from 'node:crypto';
import { z } from 'zod';
import { clientToken, type TokenLine } from './client-token.ts';

/** Seconds for which an assertion is good; the longest that Google takes is an hour. */
const ASSERTION_S = 3_600;
const GRANT = 'urn:ietf:params:oauth:grant-type:jwt-bearer';

/**
 * The key file of a service account of Google Cloud. Other kinds of key files name servers of their own, and are no
 * service accounts; the address in this one is not used either.
 */
const KeyFile = z.object({
  type: z.literal('service_account'),
  client_email: z.email(),
  private_key: z.string().refine(isPrivateKey),
  private_key_id: z.string().optional(),
});

function isPrivateKey(text: string): boolean {
  try {
    return createPrivateKey(text).asymmetricKeyType === 'rsa';
  } catch {
    return false;
  }
}

function keyFileOf(json: string): z.output<typeof KeyFile> | undefined {
  try {
    return KeyFile.safeParse(JSON.parse(json)).data;
  } catch {
    return undefined;
  }
}

/** Describes what is wrong with the text of a key file, for a field of a form. */
export const keyFileFault = (json: string): string | undefined =>
  keyFileOf(json) ? undefined : 'is no key file (JSON) of a service account with an RSA key';

const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');

/**
 * Gets access tokens of a service account by a signed assertion (RFC 7523 2.1), each kept until it expires. The key file
 * was checked by `keyFileFault`.
 */
export function serviceAccountToken(
  line: TokenLine,
  { json, address, scope }: { json: string; address: string; scope: string },
): () => Promise<string> {
  return clientToken(line, address, () => {
    const { client_email: issuer, private_key: key, private_key_id: id } = KeyFile.parse(JSON.parse(json));
    const now = Math.floor(line.clock.now().getTime() / 1000);
    const claims = { iss: issuer, scope, aud: address, iat: now, exp: now + ASSERTION_S };
    const signed = `${part({ alg: 'RS256', typ: 'JWT', ...(id !== undefined && { kid: id }) })}.${part(claims)}`;
    const assertion = `${signed}.${createSign('RSA-SHA256').update(signed).sign(key, 'base64url')}`;
    line.hide(assertion);
    return { grant_type: GRANT, assertion };
  });
}
