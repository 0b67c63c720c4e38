import { ProviderError } from '../../platform/kernel/index.ts';
import type { Use } from '../kit/declare/line.ts';
import type { Lines } from '../kit/wire/open-line.ts';
import type { ShortlinkAdapter, Shortener } from './_contract.ts';

/** Opens a provider of short links with its owner's settings. One without a public API refuses with `unsupported`. */
export const openShortener =
  (lines: Lines) =>
  (adapter: ShortlinkAdapter, use: Use): Shortener => {
    if (adapter.setup === undefined)
      return {
        shorten: () => Promise.reject(new ProviderError('unsupported', adapter.setupNotes ?? adapter.description)),
      };
    return lines.opened(adapter, use, (line) => adapter.connect(line)!);
  };
