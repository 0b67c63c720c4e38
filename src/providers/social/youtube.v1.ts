import { QUOTA_MS } from '../kit/declare/waits.ts';
import { social } from './_contract.ts';
import { quotaAt } from './_failures.ts';
import { googleApp, googleFailure, googleLogin } from './_google.ts';
import { plugsOf } from './_plugs.ts';
import { youtubeChannels } from './_youtube-channel.ts';
import { youtubeReading } from './_youtube-reading.ts';
import { Settings } from './_youtube-upload.ts';
import { youtubeVideos } from './_youtube-videos.ts';

/** https://developers.google.com/youtube/v3/docs and the guide to resumable uploads beside it */
export default social({
  id: 'youtube',
  version: 'v1',
  status: 'active',
  title: 'YouTube',
  description: 'Videos and Shorts on a YouTube channel.',
  website: 'https://www.youtube.com',
  authType: 'oauth2',
  setupNotes:
    'Until Google has audited the project of the app, YouTube keeps every uploaded video private. A project may upload 100 videos a day. A thumbnail needs an account with a verified phone number; without it YouTube chooses one.',
  credentials: {},
  app: googleApp,
  api: 'https://www.googleapis.com',
  hosts: { analytics: 'https://youtubeanalytics.googleapis.com' },
  auth: [{ in: 'token' }, { in: 'header', host: 'analytics', name: 'authorization', prefix: 'Bearer ', token: true }],
  errorOf: googleFailure,
  // that of a project for a day, and that of an account for 24 hours
  quotaOf: quotaAt('error.errors.0.reason', {
    quotaExceeded: { midnight: 'America/Los_Angeles' },
    dailyLimitExceeded: { midnight: 'America/Los_Angeles' },
    uploadLimitExceeded: { againMs: QUOTA_MS },
  }),
  login: googleLogin([
    'https://www.googleapis.com/auth/youtube.upload',
    'https://www.googleapis.com/auth/youtube.force-ssl',
    'https://www.googleapis.com/auth/youtube.readonly',
    'https://www.googleapis.com/auth/yt-analytics.readonly',
    'https://www.googleapis.com/auth/userinfo.profile',
    'https://www.googleapis.com/auth/userinfo.email',
  ]),
  once: 'two-phase',
  threads: 'comment',
  processesWithinMs: 6 * 3_600_000,
  pace: [
    { per: 'app', posts: 100, ms: 86_400_000, of: 'posts' },
    // half of the 10,000 units of a project, of which a comment takes 50: the rest is for thumbnails and readings
    { per: 'app', posts: 100, ms: 86_400_000, of: 'comments' },
  ],
  limits: {
    text: 5_000,
    unit: 'bytes',
    media: 1,
    needsMedia: true,
    mediaTypes: ['video/*'],
    video: { count: 1, bytes: 256_000_000_000, seconds: [0, 43_200] },
  },
  settings: Settings,
  fileSettings: ['thumbnail'],
  plugs: plugsOf('youtube', ['auto-comment', 'comment-from']),
  ...youtubeChannels,
  ...youtubeVideos,
  ...youtubeReading,
});
