import { pricesOf } from '../kit/declare/choices.ts';
import type { Use } from '../kit/declare/line.ts';
import type { Lines } from '../kit/wire/open-line.ts';
import type { Ai, AiAdapter } from './_contract.ts';
import { serveAi } from './_serve.ts';

/** Opens a provider of language models with the key of its owner. */
export const openAi =
  (lines: Lines) =>
  (adapter: AiAdapter, use: Use): Ai =>
    lines.opened(adapter, use, (line) => serveAi(adapter, line, pricesOf(use.values)));
