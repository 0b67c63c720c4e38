/** Settings of a process that serves co-editing; `redisUrl`: where it is one of several. */
export const replicaEnv = (redisUrl: string | undefined): Record<string, string> => ({
  RATE_LIMIT_SCALE: '1000000',
  ...(redisUrl !== undefined && { COLLAB_REDIS_ADAPTER: redisUrl, COLLAB_SINGLE_INSTANCE: 'false' }),
});
