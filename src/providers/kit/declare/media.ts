/** Bytes that are sent in pieces: their length is known, and nothing holds them as a whole. */
export interface Body {
  contentType: string;
  /** In bytes. */
  size: number;
  /** From the beginning, as often as it is asked; a failure on the way is a `ProviderError`. */
  open(): AsyncIterable<Uint8Array>;
}
/** A body with the name that a form gives it. */
export interface NamedBody extends Body {
  name: string;
}

/** What a network takes of a picture. */
export interface PictureRules {
  /** Greatest size in bytes. */
  maxBytes?: number | undefined;
  /** Greatest width times height. */
  maxPixels?: number | undefined;
  /** Content types that may stay as they are; others become JPEG. */
  types: readonly string[];
}
/** A picture as a network takes it. Width and height are those of the bytes. */
export interface Picture extends NamedBody {
  width: number;
  height: number;
}

/** A picture or video of a post, for as long as one attempt at the post lasts. */
export interface Media extends NamedBody {
  alt: string;
  width?: number;
  height?: number;
  /** An address that networks can fetch it from. */
  url: string;
  /**
   * The picture as it is when it fits, else encoded anew as JPEG: first plainer, then smaller. Undefined for what is no
   * picture, or none that can be made to fit. The work is done beside this process and ends with the attempt.
   */
  fit(rules: PictureRules): Promise<Picture | undefined>;
}
