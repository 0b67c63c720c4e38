/** `fetch` as protocol libraries call it, through the outbound guard: bounded in time and size, and a redirect is the answer. Fails with an `OutboundError`. */
export type Fetch = (
  url: string,
  request: {
    method: string;
    headers: Readonly<Record<string, string>>;
    body?: string | Uint8Array | URLSearchParams | undefined;
    signal?: AbortSignal | undefined;
  },
) => Promise<Response>;
