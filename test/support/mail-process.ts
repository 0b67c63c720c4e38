// A process of its own that sends mail, for tests that kill one: `node test/support/mail-process.ts <setup as JSON>`. It says `ready`, then sends until it is killed.
import { systemClock } from '../../src/kernel/index.ts';
import { openSender, type SenderSetup } from './mail-world.ts';

const setup = JSON.parse(process.argv[2]!) as SenderSetup;
openSender(setup, systemClock).email.startSender({ leaseSeconds: setup.leaseSeconds, restMs: 50 });
process.stdout.write('ready\n');
