/** Providers that each domain shows first, in this order; restored at each start (S224). */
export const SEED: Readonly<Record<string, readonly string[]>> = {
  ai: ['openai', 'openrouter', 'gateway'],
  media: ['replicate', 'heygen', 'fal'],
  contentpack: ['magnific'],
  storage: ['medialocker'],
  shortlink: ['lnkify'],
  vpn: ['hideme', 'custom', 'nordvpn'],
};
