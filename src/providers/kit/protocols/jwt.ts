import { z } from 'zod';

const Expiry = z.object({ exp: z.number() });
const IdToken = z.object({
  sub: z.string(),
  aud: z.union([z.string(), z.array(z.string())]),
  exp: z.number(),
  nonce: z.string().optional(),
});

/** Answers the claims of a JWT without checking its signature. Undefined for any other token. */
function claimsOf<S extends z.ZodType>(token: string, schema: S): z.output<S> | undefined {
  try {
    return schema.safeParse(JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())).data;
  } catch {
    return undefined;
  }
}

/** Answers the expiry of a JWT without checking its signature. Undefined for any other token. */
export function jwtExpiry(token: string): Date | undefined {
  const claims = claimsOf(token, Expiry);
  return claims && new Date(claims.exp * 1000);
}

/**
 * Answers the claims of an id_token that came over TLS from the token endpoint itself, of a provider whose keys are
 * unknown (OpenID Connect Core 3.1.3.7, 6).
 */
export const idTokenClaims = (token: string) => claimsOf(token, IdToken);
