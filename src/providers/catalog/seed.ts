/** Providers that are shown first in each domain, in this order, unless an operator says otherwise until the next start (S224). */
export const SEED: Readonly<Record<string, readonly string[]>> = {
  ai: ['openai', 'openrouter', 'gateway'],
  media: ['replicate', 'heygen', 'fal'],
  contentpack: ['magnific'],
  storage: ['medialocker'],
  shortlink: ['lnkify'],
  vpn: ['hideme', 'custom', 'nordvpn'],
};
