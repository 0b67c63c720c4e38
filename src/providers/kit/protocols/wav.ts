import type { LargeFile } from '../wire/large.ts';

const HEADER_BYTES = 44;
const BYTES_OF_SAMPLE = 2;
const PCM = 1;

/** Puts the header of a WAV file in front of samples: 16 bit, little-endian, one channel. */
export function wavOf(samples: LargeFile, samplesPerSecond: number): LargeFile {
  const header = Buffer.alloc(HEADER_BYTES);
  header.write('RIFF', 0);
  header.writeUInt32LE(HEADER_BYTES - 8 + samples.size, 4);
  header.write('WAVEfmt ', 8);
  header.writeUInt32LE(16, 16); // bytes of what describes the samples
  header.writeUInt16LE(PCM, 20);
  header.writeUInt16LE(1, 22);
  header.writeUInt32LE(samplesPerSecond, 24);
  header.writeUInt32LE(samplesPerSecond * BYTES_OF_SAMPLE, 28);
  header.writeUInt16LE(BYTES_OF_SAMPLE, 32);
  header.writeUInt16LE(8 * BYTES_OF_SAMPLE, 34);
  header.write('data', 36);
  header.writeUInt32LE(samples.size, 40);
  return {
    ...samples,
    contentType: 'audio/wav',
    size: HEADER_BYTES + samples.size,
    async *open() {
      yield header;
      yield* samples.open();
    },
  };
}
