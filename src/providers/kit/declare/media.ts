/**
 * Buffers for the pieces of a body. A reading takes them out, adds what it lacks, and gives them back when it has ended;
 * the next one may then be handed the same ones, when nobody has pieces of the one before any more.
 */
export type LentMemory = Buffer[];
/**
 * `lent`: the memory of a piece may be used again once a third piece after it was asked for. For readers that pass
 * pieces on and keep none: a new buffer for each costs them a collection of garbage every few megabytes.
 */
export interface BodyReading {
  lent?: LentMemory;
}
/** A body of known length that is sent in chunks and never held in memory as a whole. */
export interface Body {
  contentType: string;
  /** In bytes. */
  size: number;
  /** Reads from the start; can be called again. A failure while reading is a `ProviderError`. */
  open(how?: BodyReading): AsyncIterable<Uint8Array>;
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
  read(from: number, to: number, how?: BodyReading): AsyncIterable<Uint8Array>;
}

/** A file that can be sent as a whole or in ranges. */
export interface SentFile extends NamedBody, RangedFile {}

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
export interface Picture extends SentFile {
  width: number;
  height: number;
  /** As of `Media`; also of a converted one, where the network fetches pictures itself (`limits.fetches`). */
  publicUrl?: string;
}

/** The same of a picture that was chosen for a video. */
export type FittedCover = SentFile & Pick<Picture, 'publicUrl'>;

/** What a file is. */
export type MediaKind = 'image' | 'video' | 'audio' | 'document';

/** A file of a post; usable during one attempt at the post. */
export interface Media extends SentFile {
  kind: MediaKind;
  alt: string;
  width?: number;
  height?: number;
  /** Of a video or sound. */
  seconds?: number;
  /** The picture that was chosen for a video; its `fit` is as that of `Media`. */
  thumbnail?: SentFile & { fit(rules: PictureRules): Promise<FittedCover | undefined> };
  /** The moment of a video whose frame was chosen for it. */
  coverAtMs?: number;
  /**
   * Address at which a network can fetch the file for at least an hour: by https, without a redirect, with HEAD and
   * ranges. A signed address of a storage answers GET only. Absent where neither this server nor the storage can be
   * reached from outside.
   */
  publicUrl?: string;
  /**
   * Answers the picture unchanged when it fits, else converted to JPEG: first at lower quality, then smaller. Undefined
   * when it is not a picture, or cannot be made to fit. The conversion runs in another process and ends with the
   * attempt.
   */
  fit(rules: PictureRules): Promise<Picture | undefined>;
}
