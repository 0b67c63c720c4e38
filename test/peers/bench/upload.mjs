// @aws-sdk/lib-storage: the same file in parts of the same size, as many at once, over the SDK's own client.
import { createReadStream } from 'node:fs';
import { S3 } from '@aws-sdk/client-s3';
import { Upload } from '@aws-sdk/lib-storage';
import { answering, settings } from './answering.mjs';

const { measured } = await import(settings.memory);
const { endpoint, region, bucket, accessKeyId, secretAccessKey } = settings.values;
const client = new S3({
  endpoint,
  region,
  credentials: { accessKeyId, secretAccessKey },
  forcePathStyle: true,
  requestChecksumCalculation: 'WHEN_REQUIRED',
  responseChecksumValidation: 'WHEN_REQUIRED',
});

answering({
  makeBucket: () => client.createBucket({ Bucket: bucket }).then(() => null),
  async upload({ key, path }) {
    const target = { Bucket: bucket, Key: key };
    const figures = await measured(async () => {
      const upload = new Upload({ client, partSize: settings.partBytes, queueSize: settings.together, params: { ...target, Body: createReadStream(path, { highWaterMark: 1024 * 1024 }), ContentType: 'video/mp4' } });
      await upload.done();
    });
    const { ContentLength: size } = await client.headObject(target);
    await client.deleteObject(target);
    return { ...figures, size };
  },
});
