// Signs or verifies deliveries by the library of Standard Webhooks: a list of requests as JSON on standard input, their
// answers as JSON on standard output.
import { readFileSync } from 'node:fs';
import { Webhook } from 'standardwebhooks';

const answers = JSON.parse(readFileSync(0, 'utf8')).map(({ secret, id, seconds, headers, body }) => {
  const theirs = new Webhook(secret);
  if (!headers) return theirs.sign(id, new Date(seconds * 1000), body);
  try {
    return { event: theirs.verify(body, headers).event };
  } catch (error) {
    return { error: error.message };
  }
});
process.stdout.write(JSON.stringify(answers));
