/** A name under which people know some models of a provider; it is a choice in a form, not a provider (S234). */
export interface MediaStudio {
  id: string;
  name: string;
  /** The id of the provider. */
  adapter: string;
  models: readonly string[];
  /** Its back end has ended; it is kept for those who have it. */
  deprecated?: true;
}

/** The branded studios, each for videos. */
export const studios: readonly MediaStudio[] = [
  {
    id: 'kling',
    name: 'Kling',
    adapter: 'fal',
    models: ['fal-ai/kling-video/v2.5-turbo/pro/text-to-video', 'fal-ai/kling-video/v2.5-turbo/pro/image-to-video'],
  },
  { id: 'seedance', name: 'Seedance', adapter: 'fal', models: ['bytedance/seedance-2.5/flash/reference-to-video'] },
  { id: 'sora', name: 'Sora', adapter: 'openai', models: ['sora-2', 'sora-2-pro'], deprecated: true },
];
