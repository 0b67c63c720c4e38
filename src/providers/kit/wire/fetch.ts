/**
 * `fetch` for protocol libraries, through the outbound guard: limited in time and size; redirects are not followed.
 * Throws `OutboundError`.
 */
export type Fetch = (
  url: string,
  request: {
    method: string;
    headers: Readonly<Record<string, string>>;
    body?: string | Uint8Array | URLSearchParams | undefined;
    signal?: AbortSignal | undefined;
  },
) => Promise<Response>;
