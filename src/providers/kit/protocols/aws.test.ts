import { expect, test } from '@jest/globals';
import { signAws } from './aws.ts';

// `get-vanilla` of the suite that AWS publishes for Signature Version 4
test('signAws yields the signature of the AWS test suite', async () => {
  const access = {
    accessKeyId: 'AKIDEXAMPLE',
    secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
    sessionToken: '',
    region: 'us-east-1',
  };
  const now = new Date('2015-08-30T12:36:00Z');
  expect(
    await signAws(access, { service: 'service', method: 'GET', url: 'https://example.amazonaws.com/', now }),
  ).toEqual({
    'x-amz-date': '20150830T123600Z',
    authorization:
      'AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders=host;x-amz-date, Signature=5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31',
  });
});
