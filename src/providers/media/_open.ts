import { pricesOf } from '../kit/declare/choices.ts';
import type { Use } from '../kit/declare/line.ts';
import type { Lines } from '../kit/wire/open-line.ts';
import type { MediaService } from './_calls.ts';
import type { MediaAdapter } from './_contract.ts';
import { serveMedia } from './_serve.ts';

/** Opens a provider of media with the key of its owner. */
export const openMediaService =
  (lines: Lines) =>
  (adapter: MediaAdapter, use: Use): MediaService =>
    lines.opened(adapter, use, (line) => serveMedia(adapter, line, pricesOf(use.values)));
