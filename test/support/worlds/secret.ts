/** What the processes of the tests are configured with. */
export const JWT_SECRET = 'a-secret-of-the-tests-that-is-long-enough';
