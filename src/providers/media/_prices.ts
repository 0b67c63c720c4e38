import type { Price } from '../kit/declare/cost.ts';

// Prices of 2026-11-21, kept by hand: there is no common source. Few are stated by the providers for one result; the
// others are what their credits are sold for, or an estimate. Where a price depends on more than a request says, such
// as the resolution, it is the highest. The owner's `prices` come first.

const image = (perImage: number): Price => ({ perImage });
const second = (perSecond: number): Price => ({ perSecond });
/** Of something whose length is not known before. */
const call = (perCall: number): Price => ({ perCall });
/** Per million. */
const characters = (price: number): Price => ({ characters: price });
const minute = (price: number): Price => ({ perSecond: price / 60 });
const hour = (price: number): Price => ({ perSecond: price / 3_600 });
/** Priced by tokens; `perImage` and `characters` are the most that the output of one costs, for estimates. */
const tokens = (input: number, output: number, most: Price): Price => ({ input, output, ...most });

const WHISPER = minute(0.006);
const NANO_BANANA = tokens(0.5, 60, image(0.151));
const NANO_BANANA_PRO = tokens(2, 120, image(0.24));

const PRICES: Readonly<Record<string, Readonly<Record<string, Price>>>> = {
  bedrock: {
    'stability.stable-image-core-v1:1': image(0.04),
    'stability.stable-image-ultra-v1:1': image(0.14),
    'stability.sd3-5-large-v1:0': image(0.08),
  },
  'black-forest-labs': {
    'flux-2-pro': image(0.12),
    'flux-2-max': image(0.28),
    'flux-2-flex': image(0.24),
    'flux-2-klein-9b': image(0.06),
    'flux-kontext-max': image(0.08),
    'flux-3-video': second(0.2),
  },
  deepgram: {
    'aura-2-thalia-en': characters(30),
    'aura-2-zeus-en': characters(30),
    'nova-3': minute(0.0052),
    'nova-3-medical': minute(0.0077),
  },
  deepinfra: {
    'black-forest-labs/FLUX-1-schnell': image(0.002),
    'black-forest-labs/FLUX-2-dev': image(0.024),
    'Wan-AI/Wan2.1-T2V-14B': call(0.5),
    'hexgrad/Kokoro-82M': characters(0.8),
    'openai/whisper-large-v3-turbo': minute(0.0002),
  },
  did: { avatar: call(5.9) },
  elevenlabs: {
    eleven_multilingual_v2: characters(220),
    eleven_v3: characters(220),
    eleven_flash_v2_5: characters(110),
    music_v1: minute(0.8),
    scribe_v2: hour(0.4),
  },
  fal: {
    'fal-ai/flux-2-pro': image(0.09),
    'fal-ai/nano-banana-pro': image(0.3),
    'fal-ai/nano-banana-pro/edit': image(0.3),
    'fal-ai/veo3.1': second(0.6),
  },
  fireworks: {
    'accounts/fireworks/models/flux-1-schnell-fp8': image(0.0014),
    'accounts/fireworks/models/flux-1-dev-fp8': image(0.014),
    'accounts/fireworks/models/flux-kontext-pro': image(0.04),
    'accounts/fireworks/models/flux-kontext-max': image(0.08),
  },
  gateway: {
    'google/gemini-3.1-flash-image': image(0.151),
    'openai/gpt-image-2': image(0.25),
    'recraft/recraft-v4': image(0.04),
    'alibaba/wan-v2.6-t2v': second(0.15),
    'openai/gpt-4o-mini-tts': characters(20),
    'openai/whisper-1': WHISPER,
  },
  genviral: {
    'google/nano-banana-2': image(0.16),
    'google/veo-3': second(0.75),
    'veed/fabric-1.0': call(9),
    'creatify/lipsync': call(9),
    slideshow: call(0.5),
  },
  google: {
    'gemini-3.1-flash-image': NANO_BANANA,
    'gemini-3-pro-image': NANO_BANANA_PRO,
    'gemini-nano-banana-2.1': NANO_BANANA,
    'veo-3.1-generate-preview': second(0.4),
    'veo-3.1-fast-generate-preview': second(0.15),
    'gemini-3.8-flash-tts': tokens(0.5, 10, characters(40)),
  },
  groq: {
    'canopylabs/orpheus-v1-english': characters(22),
    'canopylabs/orpheus-arabic-saudi': characters(40),
    'whisper-large-v3-turbo': hour(0.04),
    'whisper-large-v3': hour(0.111),
  },
  hedra: {
    '26f0fc66-152b-40ab-abed-76c43df99bc8': call(4),
    'ab372b84-432f-44f5-bacc-c2542465f712': second(0.1),
    image: image(0.2),
    speech: characters(300),
  },
  heygen: { avatar: call(18), video: call(18), speech: characters(60) },
  higgsfield: {
    'higgsfield-ai/soul/standard': image(0.1),
    'flux-pro/kontext/max/text-to-image': image(0.1),
    'higgsfield-ai/dop/turbo': call(0.4),
    'veo3.1': second(0.6),
    'minimax/hailuo-2.3/pro/text-to-video': call(0.6),
    'kling-video/v2.5-turbo/pro/image-to-video': second(0.1),
  },
  ideogram: { 'ideogram-v4': image(0.06), 'ideogram-v3': image(0.06), upscale: image(0.06) },
  leonardo: {
    '7b592283-e8a7-4c5a-9ba6-d18c31f258b9': image(0.05),
    'nano-banana-2': image(0.16),
    'gpt-image-2': image(0.25),
    'recraft-v4-pro': image(0.25),
    'seedream-4.5': image(0.06),
    'gemini-image-2': image(0.24),
    MOTION2: second(0.1),
    VEO3: second(0.75),
    VEO3FAST: second(0.4),
    KLING2_5: second(0.15),
    upscale: image(0.1),
  },
  ltx: { 'ltx-2-3-pro': second(0.32), 'ltx-2-3-fast': second(0.16) },
  luma: { 'ray-3.2': second(0.24), 'uni-1': image(0.05), 'uni-1-max': image(0.12) },
  minimax: {
    'MiniMax-Hailuo-2.3': second(0.09),
    'MiniMax-Hailuo-2.3-Fast': second(0.06),
    'MiniMax-H3': second(0.15),
    'MiniMax-H3-Max': second(0.3),
    'image-01': image(0.0035),
    'speech-2.8-hd': characters(100),
    'music-2.6': call(0.15),
  },
  openai: {
    'gpt-image-2': tokens(8, 30, image(0.25)),
    'gpt-image-2.6-sunburst': tokens(8, 30, image(0.25)),
    'gpt-image-2.6-flare': tokens(2.5, 8, image(0.08)),
    'gpt-4o-mini-tts': characters(20),
    'tts-1': characters(15),
    'tts-1-hd': characters(30),
    'whisper-1': WHISPER,
  },
  openrouter: {
    'google/gemini-3.1-flash-image': image(0.151),
    'recraft/recraft-v4': image(0.04),
    'alibaba/wan-2.7': second(0.15),
    'x-ai/grok-imagine-video': second(0.07),
    'openai/gpt-4o-mini-tts': characters(20),
    'openai/whisper-1': WHISPER,
  },
  qwen: {
    'qwen-image-2.0-pro': image(0.075),
    'qwen-image-2.0': image(0.035),
    'z-image-turbo': image(0.03),
    'qwen-image': image(0.035),
    'qwen3-tts-flash': characters(11.4682), // of Beijing, 0.8 yuan for 10,000
  },
  recraft: {
    recraftv4_1: image(0.04),
    recraftv4_1_pro: image(0.25),
    recraftv4_1_vector: image(0.08),
    recraftv4: image(0.04),
    recraftv3: image(0.04),
    upscale: image(0.004),
  },
  reelfarm: { slideshow: call(1), video: call(3) },
  replicate: {
    'black-forest-labs/flux-2-pro': image(0.12),
    'google/nano-banana-pro': image(0.3),
    'bytedance/seedance-2.0': second(0.3),
    'minimax/music-2.6': call(0.15),
  },
  runway: {
    'gen4.5': second(0.12),
    gen4_turbo: second(0.05),
    'veo3.1': second(0.4),
    gen4_image: image(0.08),
    gemini_image3_pro: image(0.4),
    aleph2: call(4.5),
    act_two: call(1.5),
    eleven_multilingual_v2: characters(200),
  },
  siliconflow: {
    'Qwen/Qwen-Image': image(0.02),
    'black-forest-labs/FLUX.1-Kontext-pro': image(0.04),
    'Wan-AI/Wan2.2-T2V-A14B': call(0.29),
    'Wan-AI/Wan2.2-I2V-A14B': call(0.29),
    'FunAudioLLM/CosyVoice2-0.5B': characters(21.45), // each byte counts as one
    'FunAudioLLM/SenseVoiceSmall': minute(0.001),
  },
  'stability-ai': {
    'stable-image-core': image(0.03),
    'stable-image-ultra': image(0.08),
    'sd3.5-large': image(0.065),
    'sd3.5-flash': image(0.025),
    'upscale-fast': image(0.02),
    'upscale-creative': image(0.6),
    'stable-audio-2.5': call(0.2),
    'stable-audio-3': call(0.26),
  },
  suno: { V5: call(0.06), V4_5PLUS: call(0.06) },
  tavus: { avatar: call(5) },
  togetherai: {
    'black-forest-labs/FLUX.1-schnell': image(0.0027),
    'black-forest-labs/FLUX.2-pro': image(0.03),
    'minimax/hailuo-02': second(0.082),
    'hexgrad/Kokoro-82M': characters(10),
    'cartesia/sonic': characters(65),
    'openai/whisper-large-v3': minute(0.0015),
  },
  vertex: {
    'gemini-3.1-flash-image': NANO_BANANA,
    'veo-3.1-generate-001': second(0.4),
    'veo-3.1-fast-generate-001': second(0.15),
    'lyria-002': call(0.06),
    'chirp-3-hd': characters(30),
  },
  wan: {
    'wan2.7-t2v': second(0.15),
    'wan2.7-i2v': second(0.15),
    'wan2.6-t2v': second(0.15),
    'wan2.6-i2v': second(0.15),
    'wan2.7-image': image(0.03),
  },
  xai: {
    'grok-imagine-image': image(0.02),
    'grok-imagine-image-quality': image(0.07),
    'grok-imagine-video': second(0.07),
    'grok-imagine-video-1.5': second(0.07),
    speech: characters(15),
    transcription: hour(0.1),
  },
};

/** Answers the price of a model, or of an operation without models, by provider id. */
export const mediaPriceOf = (providerId: string, model: string): Price | undefined => PRICES[providerId]?.[model];
