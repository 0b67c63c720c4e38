// A process of the product for the benchmark `publish-file`: posts that fall due, and beside them the uploads of a film
// when it is told to. They share its loop, its pools and its outbound guard, as those of two channels do.
import { dueReminder } from '../../../../actors/channel/contract.ts';
import { actorTypes, startActors } from '../../../../actors/host/start.ts';
import { openContext } from '../../../../src/context.ts';
import { readConfig } from '../../../../src/platform/config/index.ts';
import { openLogs } from '../../../../src/platform/telemetry/index.ts';
import { JWT_SECRET } from '../../../support/worlds/app.ts';
import { answering } from '../../kit/answering.ts';
import { type FilmToSend, openUploads, WAYS } from '../../kit/uploading.ts';

interface Settings extends FilmToSend {
  databaseUrl: string;
  encryptionKey: string;
  /** What the process keeps beside the film. */
  dataFolder: string;
  /** Of the film. */
  folder: string;
  networkUrl: string;
}
const { databaseUrl, encryptionKey, dataFolder, folder, networkUrl, ...film } = JSON.parse(
  process.argv[2]!,
) as Settings;
const { config } = readConfig({
  JWT_SECRET,
  BACKEND_LISTEN_HOST: '127.0.0.1',
  SANDBOX_ENABLED: 'true',
  SSRF_ALLOWED_PRIVATE_CIDRS: '127.0.0.1/32',
  ENCRYPTION_KEY: encryptionKey,
  DATABASE_URL: databaseUrl,
  DATA_FOLDER: dataFolder,
  UPLOAD_FOLDER: folder,
});
const context = await openContext(config, {
  logs: openLogs({ level: 'warn', format: 'json', write: (line) => void process.stderr.write(line) }),
  actorTypes,
  channelReminder: dueReminder,
  sandboxUrl: networkUrl,
});
await startActors(context);
const uploads = openUploads(context, film);

answering({
  /** Answers when posts can go out. */
  ready: () => undefined,
  /** The film by one helper after another, again until then: by each of them at least once. */
  async upload({ until }: { until: number }) {
    const began = Date.now();
    let files = 0;
    while (files < WAYS.length || Date.now() < until) await uploads.send(WAYS[files++ % WAYS.length]!);
    return { began, ms: Date.now() - began, files };
  },
});
