import { describe, expect, test } from '@jest/globals';
import { MailContent } from './templates.ts';
import { reasonOf, mailRetryInMs } from './rules.ts';
import { render } from './texts.ts';
import { plain } from './escaping.ts';

const SITE = { name: 'Rookery', url: 'https://app.example.com' };
const URL_OF = 'https://app.example.com/auth/activate/code-1?a=1&b=2';

const PAGE = 'https://app.example.com/posts/1';

/** Every content, with this text wherever people give one. */
const contentsWith = (theirs: string): MailContent[] => [
  { template: 'activation', data: { name: theirs, url: URL_OF } },
  { template: 'address-known', data: { name: theirs, loginUrl: URL_OF } },
  { template: 'password-reset', data: { name: theirs, url: URL_OF } },
  { template: 'password-changed', data: { name: theirs, opens: [theirs] } },
  {
    template: 'key-made',
    data: { name: theirs, keyName: theirs, prefix: 'pm_live_a1b2', orgName: theirs, expiresAt: null, device: theirs },
  },
  { template: 'email-change', data: { name: theirs, url: URL_OF, newEmail: theirs } },
  { template: 'email-changing', data: { name: theirs, newEmail: theirs } },
  {
    template: 'invitation',
    data: { orgName: theirs, inviterName: theirs, roleName: theirs, url: URL_OF, expiresAt: '2027-01-02T03:04:05Z' },
  },
  {
    template: 'subscription-cancelled',
    data: {
      orgName: theirs,
      orgId: 'org-1',
      userEmail: theirs,
      feedback: `${theirs}\n${theirs}`,
      endsAt: '2027-01-02T03:04:05Z',
    },
  },
  { template: 'payment-failed', data: { orgName: theirs, url: URL_OF, graceEndsAt: '2027-01-02T03:04:05Z' } },
  { template: 'subscription-lapsed', data: { orgName: theirs, url: URL_OF } },
  { template: 'card-refused', data: { orgName: theirs, url: URL_OF } },
  {
    template: 'notification',
    data: {
      name: theirs,
      heading: `${theirs} 12 notifications`,
      groups: [
        { orgName: theirs, lines: [{ title: theirs, content: theirs, url: PAGE }], more: 0 },
        {
          orgName: theirs,
          lines: [
            { title: theirs, content: theirs, url: PAGE },
            { title: theirs, content: theirs, url: null },
          ],
          more: 9,
        },
      ],
      unsubscribeUrl: URL_OF,
    },
  },
];
/** The addresses that a content declares as such. */
const linksIn = (data: object): string[] =>
  Object.entries(data).flatMap(([key, value]) =>
    /url$/i.test(key) && typeof value === 'string' ? [value] : typeof value === 'object' && value ? linksIn(value) : [],
  );
const hrefs = (html: string) => [...html.matchAll(/href="([^"]*)"/g)].map(([, href]) => href);

test('the mail about a cancellation names the reason, the person and the organization in text and page [BI34]', () => {
  const data = { orgName: 'Acme', orgId: 'org-1', userEmail: 'ann@example.com', feedback: 'too dear', endsAt: null };
  const { text, html } = render({ template: 'subscription-cancelled', data }, SITE);
  for (const part of [text, html]) for (const told of ['Acme', 'org-1', 'too dear']) expect(part).toContain(told);
  expect(text).toContain('ann@');
});

test('several notices say each on a line, and below it all of one that no page shows', () => {
  const line = (title: string, more: object) => ({ title, content: `${title} said\nand more`, url: PAGE, ...more });
  const lines = [line('A post', {}), line('News', { isWhole: true }), line('A hint', { url: null })];
  const data = { name: 'Ann', heading: 'News', groups: [{ orgName: 'Acme', lines, more: 0 }], unsubscribeUrl: URL_OF };
  const { text, html } = render({ template: 'notification', data }, SITE);
  expect(text).toContain(
    `- A post\n  ${PAGE}\n- News\n  > News said\n  > and more\n  ${PAGE}\n- A hint\n  > A hint said\n  > and more`,
  );
  expect([html.includes('News said<br>and more'), html.includes('A post said')]).toEqual([true, false]);
});

test('there is a mail for every kind of mail', () => {
  expect(contentsWith('').map(({ template }) => template)).toEqual(
    MailContent.options.map(({ shape }) => shape.template.value),
  );
});

describe.each(contentsWith('Ann').map((content) => [content.template, content] as const))(
  'mail %s',
  (template, content) => {
    const wanted = linksIn(content.data);

    test('the mail has a subject, a text and a page, and links only where declared and only to the application', () => {
      const { subject, text, html } = render(content, SITE);
      expect(subject).toMatch(/^[^\n]{10,100}$/);
      expect(text).toContain('Rookery');
      expect(new Set(hrefs(html))).toEqual(
        new Set([...wanted.map((url) => url.replaceAll('&', '&amp;')), 'https://app.example.com/']),
      );
      for (const url of wanted) expect(text.split('\n').map((line) => line.trim())).toContain(url);
    });

    test('the page is readable in light and dark mode, and loads nothing', () => {
      const { html } = render(content, SITE);
      expect(html).toContain('<meta name="color-scheme" content="light dark">');
      expect(html).not.toMatch(/<(img|script|link|iframe|form)\b|url\(|@import/i);
    });

    const HOSTILE = [
      '<script>alert(1)</script>',
      '<img src=x onerror=alert(1)>',
      '"><a href="https://evil.example">click</a>',
      "' onmouseover='alert(1)",
      'javascript:alert(1)',
      'https://evil.example/login',
      'evil.example',
      'evil。example',
      'eve@evil.example',
      'mailto:eve@evil.example',
      '&lt;b&gt;',
      '</title></head><body onload=alert(1)>',
    ];
    test.each(HOSTILE)('user input becomes no markup and no link: %s [X5]', (theirs) => {
      const { subject, text, html } = render(
        contentsWith(theirs).find((one) => one.template === template)!,
        SITE,
      );
      const clean = render(content, SITE);
      expect(html.match(/<[^>]*>/g)).toHaveLength(clean.html.match(/<[^>]*>/g)!.length);
      expect(hrefs(html)).toEqual(hrefs(clean.html));
      for (const part of [subject, text, html])
        expect(part).not.toMatch(/evil[.。]example|eve@e|mailto:e|https:\/\/evil|javascript:a/);
    });

    const BREAKS = [
      'a\r\nBcc: b@example.com',
      'a\nb',
      'a\u2028b',
      'a\0b',
      '\u202Egnp.exe',
      'x'.repeat(5_000),
      '=?utf-8?q?=0d=0ABcc:?=',
    ];
    test.each(BREAKS)('the subject stays on one short line for any input: %#', (theirs) => {
      const { subject } = render(
        contentsWith(theirs).find((one) => one.template === template)!,
        SITE,
      );
      expect(subject).not.toMatch(/[\p{Cc}\u2028\u2029\u202A-\u202E]|=\?/u);
      expect(subject.length).toBeLessThan(400);
    });
  },
);

test('user input is shown as typed', () => {
  expect(plain('  Ann   Müller 👩‍🚀 ')).toBe('Ann Müller 👩‍🚀');
  expect(plain('Acme.com').replaceAll('\u2060', '')).toBe('Acme.com');
});

test('a link that is no web address is refused', () => {
  expect(() => render({ template: 'activation', data: { name: '', url: 'javascript:alert(1)' } }, SITE)).toThrow(
    'javascript:',
  );
});

test('delays between attempts grow, and attempts end after about a day', () => {
  const waits = Array.from({ length: 12 }, (_, n) => mailRetryInMs(n + 1));
  const given = waits.filter((wait) => wait !== null);
  expect(given).toEqual(given.toSorted((a, b) => a - b));
  expect(waits.slice(given.length)).toEqual(waits.slice(given.length).map(() => null));
  const hours = given.reduce((all, one) => all + one, 0) / 3_600_000;
  expect([hours > 20, hours < 30]).toEqual([true, true]);
});

test('a stored reason is one line and holds no address of a page', () => {
  expect(reasonOf('550 no\r\n see https://x.example/?token=secret now')).toBe('550 no see … now');
  expect(reasonOf('x'.repeat(9_000))).toHaveLength(500);
});
