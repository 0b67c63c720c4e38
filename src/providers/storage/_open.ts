import type { Use } from '../kit/declare/line.ts';
import type { Lines } from '../kit/wire/open-line.ts';
import type { StorageAdapter, Store } from './_contract.ts';

/** Opens the store of an organization, or with null that of the instance. */
export const openStorage =
  (lines: Lines) =>
  (adapter: StorageAdapter, use: Use): Store =>
    lines.opened(adapter, use, (line) => adapter.connect(line));
