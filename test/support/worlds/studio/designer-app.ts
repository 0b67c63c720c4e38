import { mediaApp } from '../media.ts';
import { makerAdapter } from './media-maker.ts';

/** A process of the product that reaches the servers of a world of designers, or of one in another process. */
export const designerApp = (options: Parameters<typeof mediaApp>[0]) =>
  mediaApp({
    adapters: [makerAdapter('maker')],
    ...options,
    env: { SSRF_ALLOWED_PRIVATE_CIDRS: '127.0.0.1/32', ...options.env },
  });
