import { clientApp } from '../kit/protocols/oauth.ts';
import { social } from './_contract.ts';
import { place, plugsOf } from './_plugs.ts';
import { adviceOnScope, failureInside, slackLogin } from './_slack-login.ts';
import { Settings, slackPosts } from './_slack-posts.ts';
import { slackReading } from './_slack-reading.ts';

const file = { bytes: 1_000_000_000 };
/** An account is a workspace. */
const workspaceOf = (account: string): string => account;
const CHANNEL = place(
  'channel',
  'Id of the channel in which it is shared',
  'C0123456789',
  '^[A-Z0-9]{2,21}$',
  workspaceOf,
);

/** https://docs.slack.dev/reference/methods/chat.postMessage */
export default social({
  id: 'slack',
  version: 'v1',
  status: 'active',
  title: 'Slack',
  description: 'Messages of an app in the channels of a Slack workspace.',
  website: 'https://slack.com',
  authType: 'oauth2',
  setupNotes:
    'Private channels need an invitation of the app. Without the history scopes a message whose answer was lost is not looked up, and comments are not read; Slack lets apps that are distributed outside its marketplace read histories about once a minute. People to mention are looked for among the first 5,000 of the workspace; the list of channels has the first 2,000. Slack may show a text of more than 4,000 characters as several messages.',
  credentials: {},
  app: clientApp,
  api: 'https://slack.com/api',
  auth: { in: 'token' },
  errorInside: failureInside,
  adviceOf: adviceOnScope,
  login: slackLogin,
  once: 'read-back',
  threads: 'reply',
  textForm: 'mrkdwn',
  pace: [{ per: 'account', posts: 1, ms: 1_000 }],
  limits: {
    text: 40_000,
    unit: 'characters',
    media: 10,
    mediaTypes: ['image/*', 'video/*', 'audio/*', 'application/pdf'],
    image: file,
    video: file,
    document: file,
  },
  settings: Settings,
  plugs: plugsOf('slack', ['auto-comment', 'repost-from', 'comment-from'], ['slack'], [CHANNEL]),
  ...slackPosts,
  ...slackReading,
});
