// A process of its own that sends mail, for tests that kill one: `node test/support/processes/scripts/mail-process.ts <setup as
// JSON>`. It says `ready`, then sends until it is killed.
import { openSender, type SenderSetup } from '../../worlds/mail/world.ts';

const setup = JSON.parse(process.argv[2]!) as SenderSetup;
const { email } = await openSender(setup);
email.startSender({ leaseSeconds: setup.leaseSeconds, restMs: 50 });
process.stdout.write('ready\n');
