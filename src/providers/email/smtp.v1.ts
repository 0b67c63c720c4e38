import { secret, text } from '../kit/declare/fields.ts';
import type { SmtpServer } from '../kit/protocols/smtp.ts';
import { email } from './_contract.ts';
import { FROM, headersOf } from './_mail-api.ts';

/** Any mail server that accepts submissions (RFC 6409). There are no delivery events. */
export default email({
  id: 'smtp',
  version: 'v1',
  status: 'active',
  title: 'SMTP server',
  description: 'Any mail server reachable by SMTP submission.',
  authType: 'basic',
  credentials: {
    host: text('Host', { address: true, validation: '[A-Za-z0-9.:_-]{1,253}', help: 'Name or address of the server' }),
    port: text('Port', {
      address: true,
      default: '587',
      validation: '[0-9]{1,5}',
      help: '465 is encrypted from the first byte, 587 and 25 are upgraded',
    }),
    secure: text('Encryption', {
      default: 'starttls',
      options: [
        { value: 'starttls', label: 'Upgraded (STARTTLS)' },
        { value: 'tls', label: 'From the first byte' },
        { value: 'none', label: 'None' },
      ],
    }),
    username: text('User name', { required: false, default: '', help: 'None for a relay that asks for no login' }),
    password: secret('Password', { required: false, default: '' }),
    ...FROM,
  },
  api: 'smtp://{host}:{port}',
  async check({ smtp, values }) {
    const line = smtp(serverOf(values));
    await line.verify().finally(() => line.close());
    return `${values.host} takes ${values.username === '' ? 'the connection' : 'the login'}`;
  },
  connect({ smtp, values }) {
    const line = smtp(serverOf(values));
    const { fromAddress, fromName } = values;
    const domain = fromAddress.slice(fromAddress.lastIndexOf('@') + 1);
    return {
      async send({ id, unsubscribe, ...message }) {
        const messageId = `${id}@${domain}`;
        const from = { name: fromName, address: fromAddress };
        await line.send({ ...message, messageId, from, headers: headersOf({ unsubscribe }) });
        return { messageId };
      },
      close: () => line.close(),
    };
  },
});

const serverOf = ({
  host,
  port,
  secure,
  username,
  password,
}: Readonly<Record<'host' | 'port' | 'secure' | 'username' | 'password', string>>): SmtpServer => ({
  host,
  port: Number(port),
  secure: secure === 'tls' || secure === 'none' ? secure : 'starttls',
  username,
  password,
});
