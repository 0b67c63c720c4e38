import { expect, test } from '@jest/globals';
import { localProviders } from '../../../support/worlds/providers.ts';

test('a site is its address with its folder; the address of its dashboard, log-in or API is refused in words', () => {
  const providers = localProviders();
  const adapter = providers.resolve('social', 'wordpress');
  const typed = (domain: string) => providers.fields(adapter, { domain, username: 'ann', password: 'abcd efgh' });
  expect(typed('blog.example/team/')).toMatchObject({ domain: 'https://blog.example/team' });
  expect(typed('https://blog.example/wp')).toMatchObject({ domain: 'https://blog.example/wp' });
  for (const page of ['wp-admin/', 'team/wp-admin/profile.php', 'wp-login.php?redirect_to=x', 'wp-json/wp/v2'])
    expect(() => typed(`https://blog.example/${page}`)).toThrow('Site URL: is the address of a page of your site');
});
