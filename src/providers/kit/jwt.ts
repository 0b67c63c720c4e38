import { z } from 'zod';

const Claims = z.object({ exp: z.number() });

/** When a token that is a JWT ends; its signature is not ours to check. Undefined for any other token. */
export function jwtExpiry(token: string): Date | undefined {
  try {
    const claims = Claims.safeParse(JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()));
    return claims.success ? new Date(claims.data.exp * 1000) : undefined;
  } catch {
    return undefined;
  }
}
