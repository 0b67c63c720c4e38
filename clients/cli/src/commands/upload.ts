import type { Command } from 'commander';
import { dataOf, type Schemas } from '../../../typescript/src/index.ts';
import { UsageError } from '../exit.ts';
import { isAddress, keyOfUpload, requireFiles, uploadFile } from '../files.ts';
import { IDEMPOTENCY_KEY, keyed } from '../input.ts';
import type { Session } from '../session.ts';

export function addUpload(program: Command, session: Session): void {
  program
    .command('upload')
    .description('Put files, or what lies at an address, into the library.')
    .argument('<files...>', 'files or addresses')
    .option('--name <name>', 'name in the library; for one file')
    .option(...IDEMPOTENCY_KEY)
    .action(async (files: string[], { name, idempotencyKey: key }: { name?: string; idempotencyKey?: string }) => {
      if (name !== undefined && files.length > 1) throw new UsageError('--name is for one file');
      const rookery = await session.client();
      await requireFiles(files);
      const uploaded: Schemas['PublicFile'][] = [];
      const show = () =>
        session.output.rows(uploaded, [
          ['ID', ({ id }) => id],
          ['NAME', ({ originalName }) => originalName],
          ['ADDRESS', ({ path }) => path],
        ]);
      for (const [position, file] of files.entries()) {
        const body = { url: file, ...(name !== undefined && { name }) };
        const idempotencyKey = key === undefined ? undefined : keyOfUpload(key, position);
        const uploading: Promise<Schemas['PublicFile']> = isAddress(file)
          ? dataOf(rookery.api.POST('/public/v1/upload-from-url', { body, params: keyed(idempotencyKey) }))
          : uploadFile(rookery, file, session.signal, { name, ...(idempotencyKey && { idempotencyKey }) });
        uploaded.push(
          await uploading.catch((error: unknown) => {
            if (uploaded.length > 0) show(); // they are in the library, and are not to be uploaded again
            throw error;
          }),
        );
      }
      show();
    });
}
