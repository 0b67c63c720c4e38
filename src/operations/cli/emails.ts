import { mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { type MailContent, render, type Site } from '../../delivery/email/index.ts';

const samples = (url: string): readonly MailContent[] => {
  const people = { name: 'Ann Example' };
  const later = '2030-01-02T15:30:00.000Z';
  return [
    { template: 'activation', data: { ...people, url: `${url}/auth/activate/sample` } },
    { template: 'address-known', data: { ...people, loginUrl: `${url}/auth/login` } },
    { template: 'password-reset', data: { ...people, url: `${url}/auth/forgot/sample` } },
    { template: 'password-changed', data: { ...people, opens: ['the API key CLI (pm_live_a1b2…) in Acme Ltd'] } },
    {
      template: 'key-made',
      data: {
        ...people,
        keyName: 'CLI',
        prefix: 'pm_live_a1b2',
        orgName: 'Acme Ltd',
        expiresAt: later,
        device: '192.0.2.1, curl/8.5.0',
      },
    },
    {
      template: 'email-change',
      data: {
        ...people,
        url: `${url}/auth/confirm-email/sample`,
        newEmail: 'ann@new.example',
        oldEmail: 'ann@old.example',
      },
    },
    { template: 'email-changing', data: { ...people, newEmail: 'ann@new.example' } },
    {
      template: 'invitation',
      data: {
        orgName: 'Acme <b>Ltd</b>',
        inviterName: 'Bob Example',
        roleName: 'Editor',
        url: `${url}/join/sample`,
        expiresAt: later,
      },
    },
    {
      template: 'subscription-cancelled',
      data: {
        orgName: 'Acme Ltd',
        orgId: 'sample',
        userEmail: 'ann@acme.example',
        feedback: 'Too dear.\nThank you.',
        endsAt: later,
      },
    },
    { template: 'subscription-lapsed', data: { orgName: 'Acme Ltd', url: `${url}/billing` } },
    { template: 'card-refused', data: { orgName: 'Acme Ltd', url: `${url}/billing` } },
    {
      template: 'notification',
      data: {
        ...people,
        heading: 'Your digest: 4 notifications',
        groups: [
          {
            orgName: 'Acme Ltd',
            lines: [
              { title: 'Published on Acme', content: 'Hello world', url: `${url}/posts/sample` },
              { title: 'Published on Acme News', content: 'Hello again', url: `${url}/posts/sample` },
            ],
            more: 2,
          },
        ],
        unsubscribeUrl: `${url}/notifications/unsubscribe?token=sample`,
      },
    },
    { template: 'payment-failed', data: { orgName: 'Acme Ltd', url: `${url}/billing`, graceEndsAt: later } },
  ];
};

/** Writes every mail with sample data, as a page and as a text, to look at. */
export async function previewEmails(folder: string, site: Site, say: (line: string) => void): Promise<void> {
  const into = resolve(folder);
  await mkdir(into, { recursive: true });
  for (const content of samples(site.url)) {
    const { subject, text, html } = render(content, site);
    await writeFile(join(into, `${content.template}.html`), html);
    await writeFile(join(into, `${content.template}.txt`), `Subject: ${subject}\n\n${text}`);
  }
  say(`Mails written to ${into}`);
}
