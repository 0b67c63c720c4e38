/** A body of known length that is sent in chunks and never held in memory as a whole. */
export interface Body {
  contentType: string;
  /** In bytes. */
  size: number;
  /** Reads from the start; can be called again. A failure while reading is a `ProviderError`. */
  open(): AsyncIterable<Uint8Array>;
}
/** A body with its file name in a form. */
export interface NamedBody extends Body {
  name: string;
}

/** A file of known length that is read in ranges, never as a whole. */
export interface RangedFile {
  name: string;
  contentType: string;
  /** In bytes. */
  size: number;
  /** Reads from `from` up to, but without, `to`; can be called again. A failure while reading is a `ProviderError`. */
  read(from: number, to: number): AsyncIterable<Uint8Array>;
}

/** The limits of a network for one picture. */
export interface PictureRules {
  /** Greatest size in bytes. */
  maxBytes?: number | undefined;
  /** Greatest width times height. */
  maxPixels?: number | undefined;
  /** Content types that are accepted; others are converted to JPEG. */
  types: readonly string[];
}
/** A picture within the limits of a network, with the width and height of its bytes. */
export interface Picture extends NamedBody {
  width: number;
  height: number;
}

/** A picture or video of a post; usable during one attempt at the post. */
export interface Media extends NamedBody {
  alt: string;
  width?: number;
  height?: number;
  /** Of a video or sound. */
  seconds?: number;
  /** Address at which networks can fetch it. */
  url: string;
  /** The same; absent where nobody outside can reach this server. */
  publicUrl?: string;
  /**
   * Answers the picture unchanged when it fits, else converted to JPEG: first at lower quality, then smaller. Undefined
   * when it is not a picture, or cannot be made to fit. The conversion runs in another process and ends with the
   * attempt.
   */
  fit(rules: PictureRules): Promise<Picture | undefined>;
}
