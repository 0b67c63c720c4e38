import { z } from 'zod';
import { secret, text } from '../kit/declare/fields.ts';
import { NUMBER_ID } from './_bounds.ts';
import { social } from './_contract.ts';
import { failureAt } from './_failures.ts';
import { plugsOf } from './_plugs.ts';
import { wordpressComments } from './_wordpress-comments.ts';
import { Settings, TYPES, wordpressPosts } from './_wordpress-post.ts';
import { wordpressSite } from './_wordpress-site.ts';

/** https://developer.wordpress.org/rest-api/reference/ */
export default social({
  id: 'wordpress',
  version: 'v1',
  status: 'active',
  title: 'WordPress',
  description: 'Posts on a WordPress site of your own.',
  website: 'https://wordpress.org',
  authType: 'app_password',
  setupNotes:
    'The site needs WordPress 5.6 or later, https, and permalinks other than plain. Make an application password at Users > Profile; security plugins may switch these or the REST API off. Sites at wordpress.com connect in another way, which is not offered.',
  credentials: {
    domain: text('Site URL', {
      form: 'site',
      maxLength: 500,
      help: 'The address of your site, for example https://blog.example or https://blog.example/team',
      fault: (typed) =>
        /\/wp-(?:admin|login|json)\b/.test(typed)
          ? 'is the address of a page of your site: leave out everything from /wp- on'
          : undefined,
    }),
    username: text('Username'),
    password: secret('Application password', {
      help: 'Made at the site under Users > Profile > Application Passwords',
    }),
  },
  api: '{domain}/wp-json',
  auth: { in: 'basic', user: { field: 'username' }, password: { field: 'password' } },
  errorOf: failureAt('code', { comment_flood: 'rate_limited' }),
  duplicateOf: z.object({ code: z.literal('comment_duplicate') }),
  login: { kind: 'credentials' },
  once: 'two-phase',
  threads: 'comment',
  editor: 'html',
  limits: {
    text: 100_000,
    unit: 'characters',
    media: 50,
    mediaTypes: [...TYPES, 'video/mp4', 'video/webm', 'video/quicktime'],
  },
  releaseIds: NUMBER_ID,
  settings: Settings,
  fileSettings: ['main_image'],
  plugs: plugsOf('wordpress', ['comment-from']),
  ...wordpressSite,
  ...wordpressPosts,
  ...wordpressComments,
});
