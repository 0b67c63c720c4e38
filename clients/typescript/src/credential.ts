import { notOfApi, refusalOf, unreachable } from './errors.ts';

/** Tokens of an OAuth client, which renew themselves. */
export interface Tokens {
  accessToken: string;
  refreshToken: string;
  clientId: string;
  clientSecret?: string;
  /** Milliseconds since 1970. */
  expiresAt?: number;
  /** Gets each new pair, to be kept: the refresh token before it is used up. */
  onRefresh?: (tokens: { accessToken: string; refreshToken: string; expiresAt: number }) => void | Promise<void>;
}

export interface Credential {
  /** What is to be sent now. */
  current(): Promise<string | undefined>;
  /** Replaces what was refused; answers whether there is something else now. */
  renew(refused: string | undefined): Promise<boolean>;
}

/** Renewed this long before the end, so that an upload, which cannot be repeated, is not refused midway. */
const EARLY_MS = 30_000;

interface Pair {
  access_token: string;
  refresh_token: string;
  expires_in: number;
}
/** A new pair in the words of OAuth; without one the tokens that are there stay. */
function pairOf(text: string): Pair {
  let pair: Partial<Pair> | null;
  try {
    pair = JSON.parse(text);
  } catch (cause) {
    throw notOfApi('is not in JSON', cause);
  }
  if (!pair?.access_token || !pair.refresh_token) throw notOfApi('holds no tokens');
  return pair as Pair;
}

export function openCredential(
  given: string | Tokens | undefined,
  { url, fetch, now, timeoutMs }: { url: string; fetch: typeof globalThis.fetch; now: () => number; timeoutMs: number },
): Credential {
  if (typeof given !== 'object') return { current: async () => given, renew: async () => false };
  let tokens = given;
  let renewing: Promise<void> | undefined;

  async function exchange(): Promise<void> {
    const request = new Request(`${url}/oauth/token`, {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: 'refresh_token',
        refresh_token: tokens.refreshToken,
        client_id: tokens.clientId,
        ...(tokens.clientSecret !== undefined && { client_secret: tokens.clientSecret }),
      }),
    });
    const signal = AbortSignal.timeout(timeoutMs); // every call waits for it
    const broken = (error: unknown): never => {
      throw unreachable(request.url, error, signal.aborted ? `no answer in ${timeoutMs} ms` : undefined);
    };
    const answer = await fetch(request, { signal }).catch(broken);
    if (!answer.ok) throw await refusalOf(answer);
    const pair = pairOf(await answer.text().catch(broken));
    const fresh = {
      accessToken: pair.access_token,
      refreshToken: pair.refresh_token,
      expiresAt: now() + pair.expires_in * 1_000,
    };
    tokens = { ...tokens, ...fresh };
    await tokens.onRefresh?.(fresh);
  }
  /** One exchange at a time: a refresh token that is shown twice ends the whole family. */
  const renewOnce = () => (renewing ??= exchange().finally(() => (renewing = undefined)));

  return {
    async current() {
      if (renewing || (tokens.expiresAt !== undefined && tokens.expiresAt - EARLY_MS <= now())) await renewOnce();
      return tokens.accessToken;
    },
    async renew(refused) {
      if (refused === tokens.accessToken) await renewOnce();
      return true;
    },
  };
}
