/** What an address of the web answered. */
export interface WebAnswer {
  /** Where its redirects led. */
  url: string;
  contentType: string;
  bytes: Uint8Array;
}

/**
 * Reads an address that a person wrote, as anybody may: without credentials, through the outbound guard, with its
 * redirects, once. Undefined: there is nothing to be had within the limits. `cut`: of a longer answer its beginning.
 */
export type WebPages = (
  url: string,
  limits: { accept: string; timeoutMs: number; maxBytes: number; cut?: true },
) => Promise<WebAnswer | undefined>;
