import { z } from 'zod';

const text = z.string();
const letter = <const T extends string, S extends z.ZodRawShape>(template: T, data: S) => z.object({ template: z.literal(template), data: z.object(data) });

/** What a mail says: a template and its data. Links carry secrets, so a mail that waits is sealed. */
export const Letter = z.discriminatedUnion('template', [
  letter('activation', { name: text, url: z.url() }),
  letter('address-known', { name: text, loginUrl: z.url() }), //      someone tried to register an address that exists (S30)
  letter('password-reset', { name: text, url: z.url() }),
  letter('password-changed', { name: text, opens: z.array(text).optional() }), //  keys and apps that open the account still
  letter('key-made', { name: text, keyName: text, prefix: text, orgName: text, expiresAt: text.nullable(), device: text.optional() }),
  letter('email-change', { name: text, url: z.url(), newEmail: text, oldEmail: text.optional() }), //  to the new address: confirm; absent in mails of older releases
  letter('email-changing', { name: text, newEmail: text }), //             to the old address: notice
  letter('invitation', { orgName: text, inviterName: text, roleName: text, url: z.url(), expiresAt: text }),
  letter('subscription-cancelled', { orgName: text, orgId: text, userEmail: text, feedback: text, endsAt: text.nullable() }),
  letter('payment-failed', { orgName: text, url: z.url(), graceEndsAt: text }),
  letter('subscription-lapsed', { orgName: text, url: z.url() }), //  the grace period is over (S80)
  letter('card-refused', { orgName: text, url: z.url() }), //         the card check of a trial
]);
export type Letter = z.output<typeof Letter>;
export type Template = Letter['template'];
