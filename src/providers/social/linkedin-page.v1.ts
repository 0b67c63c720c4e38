import { social } from './_contract.ts';
import { LINKEDIN, linkedinLogin, Settings } from './_linkedin.ts';
import { linkedinPosts } from './_linkedin-author.ts';
import { linkedinPages } from './_linkedin-pages.ts';
import { plugsOf } from './_plugs.ts';

/** https://learn.microsoft.com/en-us/linkedin/marketing/community-management/shares/posts-api */
export default social({
  ...LINKEDIN,
  id: 'linkedin-page',
  title: 'LinkedIn Page',
  description: 'Posts on a company page that the person administers.',
  setupNotes:
    'The app needs the product Community Management API, which LinkedIn reviews for registered companies. The person must be a super admin or content admin of the page.',
  login: linkedinLogin({ prompt: 'none' }),
  once: 'read-back',
  settings: Settings,
  plugs: plugsOf(
    'linkedin-page',
    ['auto-repost', 'auto-comment', 'repost-from', 'comment-from'],
    ['linkedin', 'linkedin-page'],
  ),
  ...linkedinPosts('organization'),
  ...linkedinPages,
});
