/** An answer whose body comes in pieces: it must be read to its end or cancelled. */
export interface Streamed {
  status: number;
  headers: Headers;
  /** Ends with an error when no more comes for half a minute. */
  body: AsyncIterable<Uint8Array>;
  cancel(): void;
}
/** Bytes of any number, in either direction, through the outbound guard; no redirect is followed. Fails with an `OutboundError`. */
export type Stream = (
  url: string,
  request?: {
    method?: string;
    headers?: Readonly<Record<string, string>>;
    /** A stream is begun anew for each address that is tried. */
    body?: Uint8Array | { from: AsyncIterable<Uint8Array>; bytes: number };
  },
) => Promise<Streamed>;
