import { z } from 'zod';
import type { Offered } from '../../../src/people/federated-login/index.ts';
import { isTimezone } from '../../../src/platform/kernel/index.ts';
import { emailText, nameText, newPassword } from '../../http/fields.ts';

const timezone = z.string().refine(isTimezone, 'not an IANA time zone');

const byProvider = { provider: z.string().max(64), providerToken: z.string().max(16_384).optional() };

export const isLocal = (provider: string) => provider.toLowerCase() === 'local';

type Proven = {
  provider: string;
  email?: string | undefined;
  password?: string | undefined;
  providerToken?: string | undefined;
};

/** Email and password, or for another provider its token in their place (S30, S32). */
const proven = <T extends z.ZodType<Proven>>(form: T, needsToken: (body: Proven) => boolean) =>
  form.superRefine((body, { addIssue }) => {
    for (const name of needsToken(body) ? (['providerToken'] as const) : (['email', 'password'] as const))
      if (body[name] === undefined)
        addIssue({ code: 'invalid_type', expected: 'string', input: undefined, path: [name], message: 'is needed' });
  });

export const NewUser = proven(
  z.strictObject({
    ...byProvider,
    email: emailText.optional(),
    password: newPassword.optional(),
    company: nameText(3, 128),
    name: nameText(0, 100).optional(),
    timezone: timezone.optional(),
    setupToken: z.string().min(1).max(128).optional(),
    returnToken: z.boolean().optional(),
  }),
  ({ provider }) => !isLocal(provider),
).meta({
  examples: [{ provider: 'LOCAL', email: 'ann@acme.example', password: 'correct horse battery', company: 'Acme Ltd' }],
});

export const Login = proven(
  z.strictObject({
    ...byProvider,
    email: z.string().optional(),
    password: z.string().max(1024).optional(),
    returnToken: z.boolean().optional(),
  }),
  ({ provider, providerToken }) => !isLocal(provider) && providerToken !== undefined,
).meta({ examples: [{ provider: 'LOCAL', email: 'ann@acme.example', password: 'correct horse battery' }] });

export const LoginProvider = z.strictObject({ identifier: z.string(), name: z.string(), type: z.string() });

/** A way to log in, for the page that offers it (S36). */
export const presentLoginProvider = ({ adapter, name }: Offered): z.input<typeof LoginProvider> => ({
  identifier: adapter.id,
  name,
  type: adapter.authType,
});
