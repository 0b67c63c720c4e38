import type { Use } from '../kit/declare/line.ts';
import type { Lines } from '../kit/wire/open-line.ts';
import type { ContentPack, ContentPackAdapter } from './_contract.ts';

/** Opens a source with the key of its owner. */
export const openContentPack =
  (lines: Lines) =>
  (adapter: ContentPackAdapter, use: Use): ContentPack =>
    lines.opened(adapter, use, (line) => adapter.connect(line));
