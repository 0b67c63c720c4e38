/** An answer with a streamed body, which must be read to its end or cancelled. */
export interface Streamed {
  status: number;
  headers: Headers;
  /** Fails after half a minute without data, and where it comes too slowly as a whole (`DOWNLOAD`). */
  body: AsyncIterable<Uint8Array>;
  cancel(): void;
}
/**
 * Sends and receives bodies of any length through the outbound guard; redirects are not followed. Throws
 * `OutboundError`.
 */
export type Stream = (
  url: string,
  request?: {
    method?: string;
    headers?: Readonly<Record<string, string>>;
    /** A stream is read from the start for each address that is tried. */
    body?: Uint8Array | { from: AsyncIterable<Uint8Array>; bytes: number };
  },
) => Promise<Streamed>;
