import { expect, test } from '@jest/globals';
import { Client } from '../../support/worlds/app.ts';
import { eventually } from '../../support/wire/eventually.ts';
import { mailServer } from '../../support/peers/mail-server.ts';
import { describePeer, npmPeer } from '../../support/peers/peers.ts';
import { wholeProduct } from '../../support/worlds/product.ts';

await describePeer(
  'email',
  () => npmPeer('email'),
  ({ start }) => {
    test('a new account waits for the mail of EMAIL_PROVIDER=smtp, and the link in it activates the account [DE8, S30, S34]', async () => {
      await using peer = await start();
      const server = mailServer(peer);
      const port = await server.listen({ login: { user: 'rookery', pass: 'a-password-of-mail' } });
      await using product = await wholeProduct({
        env: {
          FRONTEND_URL: 'https://app.example.com',
          EMAIL_PROVIDER: 'smtp',
          EMAIL_FROM_ADDRESS: 'no-reply@rookery.example',
          EMAIL_FROM_NAME: 'Rookery at Acme',
          EMAIL_SMTP_HOST: '127.0.0.1',
          EMAIL_SMTP_PORT: String(port),
          EMAIL_SMTP_SECURE: 'none',
          EMAIL_SMTP_USER: 'rookery',
          EMAIL_SMTP_PASSWORD: 'a-password-of-mail',
        },
      });
      const ann = new Client(product.address);
      const email = 'ann@example.com';
      const registered = await ann.post('/auth/register', {
        provider: 'LOCAL',
        email,
        password: 'correct horse battery',
        company: '<b>Acme</b> http://evil.example',
      });
      expect([registered.status, registered.body, ann.cookies.has('auth')]).toEqual([200, { activate: true }, false]);

      await eventually('the mail has come', async () => (await server.mails(email)).length > 0);
      const [mail, ...more] = await server.mails(email);
      expect(more).toEqual([]);
      expect(mail).toMatchObject({
        user: 'rookery',
        from: [{ name: 'Rookery at Acme', address: 'no-reply@rookery.example' }],
      });
      const [, code] = /^https:\/\/app\.example\.com\/auth\/activate\/(\S+)$/m.exec(mail!.text!) ?? [];
      expect(code).toMatch(/^\S{20,}$/);
      expect(mail!.text).toMatch(/\n-- \nRookery at Acme\nhttps:\/\/app\.example\.com\/\n$/);
      for (const part of [mail!.text!, mail!.html!]) expect(part).not.toContain('evil.example');

      expect((await ann.post('/auth/activate', { code })).body).toEqual({ can: true });
      expect((await ann.get('/user/self')).body).toMatchObject({ email, activated: true });
      await eventually(
        'it is in the log',
        async () => (await product.db.sql`select 1 from emails where status = 'sent' and content is null`).length === 1,
      );
    });

    test('the mail provider set by a super-admin is tested, used from the next mail on, and unused once disabled [S156, S160, S163]', async () => {
      await using peer = await start();
      const server = mailServer(peer);
      const [first, second] = [
        String(await server.listen()),
        String(await server.listen({ login: { user: 'rookery', pass: 'a-password-of-mail' } })),
      ];
      await using product = await wholeProduct({
        env: {
          EMAIL_PROVIDER: 'smtp',
          EMAIL_FROM_ADDRESS: 'first@rookery.example',
          EMAIL_SMTP_HOST: '127.0.0.1',
          EMAIL_SMTP_PORT: first,
          EMAIL_SMTP_SECURE: 'none',
        },
      });
      const { sql } = product.db;
      const register = async (email: string) => {
        await new Client(product.address).post('/auth/register', {
          provider: 'LOCAL',
          email,
          password: 'correct horse battery',
          company: 'Acme',
        });
        await eventually(`the mail to ${email} has come`, async () => (await server.mails(email)).length > 0);
        return (await server.mails(email))[0]!.from[0]!.address;
      };
      expect(await register('ann@example.com')).toBe('first@rookery.example');

      await sql`
        update users u
        set activated = true, is_super_admin = true, password_hash = r.password_hash
        from registrations r
        where r.user_id = u.id`;
      const root = new Client(product.address);
      expect(
        (
          await root.post('/auth/login', {
            provider: 'LOCAL',
            email: 'ann@example.com',
            password: 'correct horse battery',
          })
        ).status,
      ).toBe(200);
      const plain = {
        host: '127.0.0.1',
        port: second,
        secure: 'none',
        username: 'rookery',
        fromAddress: 'second@rookery.example',
      };
      const setting = (password: string) => ({
        domain: 'email',
        providerId: 'smtp',
        credentials: { ...plain, password },
      });
      // not of an organization
      expect((await root.post('/providers/settings', setting('a-password-of-mail'))).status).toBe(400);
      expect((await root.post('/admin/providers/settings/test', setting('another-password'))).body).toMatchObject({
        ok: false,
      });
      const made = await root.post('/admin/providers/settings', setting('a-password-of-mail'));
      expect([made.status, made.body.credentials]).toEqual([201, { password: { set: true, hint: null } }]);
      expect((await root.post(`/admin/providers/settings/${made.body.id}/test`)).body).toMatchObject({
        ok: true,
        message: '127.0.0.1 takes the login',
      });
      expect(await register('ben@example.com')).toBe('second@rookery.example');
      expect(await register('cem@example.com')).toBe('second@rookery.example');

      expect((await root.put(`/admin/providers/settings/${made.body.id}`, { enabled: false })).status).toBe(200);
      expect(await register('dan@example.com')).toBe('first@rookery.example');
    });
  },
);
