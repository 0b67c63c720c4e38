import { testApp } from './app.ts';
import { clockWhere } from './publishing/world.ts';

/** What addresses of files and of parts begin with. */
export const BACKEND = 'https://api.example';

/** By which a storage is asked again at once, and not after a second. */
export const HASTY = clockWhere(() => 0);

/** The product with its local files in this folder, each of up to a million bytes unless the settings say otherwise. */
export const mediaApp = ({ folder, env = {}, ...options }: Parameters<typeof testApp>[0] & { folder: string }) =>
  testApp({
    ...options,
    env: { NEXT_PUBLIC_BACKEND_URL: BACKEND, UPLOAD_FOLDER: folder, MEDIA_UPLOAD_MAX_BYTES: '1000000', ...env },
  });
