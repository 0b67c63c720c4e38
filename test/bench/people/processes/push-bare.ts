// Nothing but undici: the same bytes to the same server, as many at a time.
import { Pool } from 'undici';
import { answering } from '../../kit/answering.ts';

const { port, cert, atOnce } = JSON.parse(process.argv[2]!) as { port: number; cert: string; atOnce: number };
const servername = 'fcm.googleapis.com';
const pool = new Pool(`https://127.0.0.1:${port}`, { connections: atOnce, connect: { ca: cert, servername } });

answering({
  async send({ tokens }: { tokens: string[] }) {
    const left = tokens.values();
    await Promise.all(
      Array.from({ length: atOnce }, async () => {
        for (const token of left) {
          const message = {
            token,
            notification: { title: 'Acme is disabled', body: 'A member disabled it.' },
            data: { category: 'channel_issues' },
            android: { collapse_key: 'channel_issues' },
          };
          const { body } = await pool.request({
            path: '/v1/projects/bench/messages:send',
            method: 'POST',
            headers: {
              host: servername,
              authorization: 'Bearer ya29.secret',
              'content-type': 'application/json',
            },
            body: JSON.stringify({ message }),
          });
          await body.text();
        }
      }),
    );
  },
});
