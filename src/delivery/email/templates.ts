import { z } from 'zod';

const text = z.string();
const mail = <const T extends string, S extends z.ZodRawShape>(template: T, data: S) =>
  z.object({ template: z.literal(template), data: z.object(data) });

/** What a mail says: a template and its data. Links carry secrets, so a mail that waits is sealed. */
export const MailContent = z.discriminatedUnion('template', [
  mail('activation', { name: text, url: z.url() }),
  //      someone tried to register an address that exists (S30)
  mail('address-known', { name: text, loginUrl: z.url() }),
  mail('password-reset', { name: text, url: z.url() }),
  //  keys and apps that open the account still
  mail('password-changed', { name: text, opens: z.array(text).optional() }),
  mail('key-made', {
    name: text,
    keyName: text,
    prefix: text,
    orgName: text,
    expiresAt: text.nullable(),
    device: text.optional(),
  }),
  //  to the new address: confirm; absent in mails of older releases
  mail('email-change', { name: text, url: z.url(), newEmail: text, oldEmail: text.optional() }),
  mail('email-changing', { name: text, newEmail: text }), //             to the old address: notice
  mail('invitation', { orgName: text, inviterName: text, roleName: text, url: z.url(), expiresAt: text }),
  mail('subscription-cancelled', {
    orgName: text,
    orgId: text,
    userEmail: text,
    feedback: text,
    endsAt: text.nullable(),
  }),
  mail('payment-failed', { orgName: text, url: z.url(), graceEndsAt: text }),
  mail('subscription-lapsed', { orgName: text, url: z.url() }), //  the grace period is over (S80)
  mail('card-refused', { orgName: text, url: z.url() }), //         the card check of a trial
  //  notices that their reader can refuse, of one or several organizations
  mail('notification', {
    name: text,
    heading: text,
    groups: z.array(
      z.object({
        orgName: text,
        lines: z
          .array(
            z.object({
              title: text,
              content: text,
              url: z.url().nullable(),
              /** Its content stands in the mail among others too; absent in mails of older releases. */
              isWhole: z.boolean().optional(),
            }),
          )
          .max(50),
        /** Of this organization beyond those. */
        more: z.int(),
      }),
    ),
    unsubscribeUrl: z.url(),
  }),
]);
export type MailContent = z.output<typeof MailContent>;
export type Template = MailContent['template'];
