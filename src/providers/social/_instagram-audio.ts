import { z } from 'zod';
import { tool } from './_tools.ts';

const Audio = z.object({
  audio_id: z.string(),
  title: z.string().nullish(),
  display_artist: z.string().nullish(),
  ig_username: z.string().nullish(),
  duration_in_ms: z.number().nullish(),
  cover_artwork_thumbnail_url: z.string().nullish(),
  download_url: z.string().nullish(),
});
const soundOf = (one: z.output<typeof Audio>) => ({
  id: one.audio_id,
  title: one.title ?? '',
  artist: one.display_artist ?? one.ig_username ?? '',
  ...(one.duration_in_ms != null && { seconds: Math.round(one.duration_in_ms / 1000) }),
  ...(one.cover_artwork_thumbnail_url && { image: one.cover_artwork_thumbnail_url }),
  ...(one.download_url && { preview: one.download_url }),
});

/** https://developers.facebook.com/docs/instagram-platform, the guide to its Audio API */
export const audioSearch = tool({
  description: 'Searches music or original sounds for a reel; without words those of the day',
  data: z.looseObject({
    q: z.string().max(100).optional(),
    audio_type: z.enum(['music', 'original_sound']).optional(),
  }),
  async call({ http, account, data: { q, audio_type = 'music' } }) {
    const query = { audio_type, user_id: account, search_query: q || undefined };
    const { audio } = await http.get('/ig_audio', z.object({ audio: z.array(Audio) }), { query });
    return audio.map(soundOf);
  },
});
