import type { Use } from '../kit/line.ts';
import type { Lines } from '../kit/open-line.ts';
import type { StorageAdapter, Store } from './_contract.ts';

/** Where an organization keeps its files, or with null the instance. */
export const openStorage =
  (lines: Lines) =>
  (adapter: StorageAdapter, use: Use): Store =>
    lines.opened(adapter, use, (line) => adapter.connect(line));
