/** What the settings mean. Made once by `readConfig`; every room takes its part as an argument. */
export interface Config {
  production: boolean;
  /** Development only: no CSRF check, no security headers, cookies without `Secure`. */
  notSecured: boolean;
  version: string;
  http: {
    host: string | undefined;
    port: number;
    frontendUrl: string;
    /** Public address of this service, without a trailing slash. */
    backendUrl: string;
    trustProxyHops: number;
    /** Requests per hour of a bucket without a limit of its own, and the factor on every limit (S240). */
    apiLimit: number;
    rateLimitScale: number;
    appsChallenge: string | undefined;
  };
  database: { url: string | undefined; connections: number; poolTimeoutSeconds: number | undefined; allowDestructive: boolean; dataFolder: string };
  redis: { url: string | undefined };
  secrets: { jwt: string; encryptionKey: Buffer; webhookSigning: string };
  registration: { disabled: boolean; disallowPlus: boolean; emailProvider: string | undefined };
  actors: {
    engine: 'embedded' | 'dapr';
    dapr: { httpPort: number; grpcPort: number; apiToken: string | undefined; appToken: string | undefined; appPort: number; appId: string; placementHealthUrl: string | undefined };
    reminderHorizonHours: number;
    /** Provider calls under way at a time in this process. */
    inFlight: number;
  };
  outbound: { timeoutMs: number; webhookTimeoutMs: number; allowedPrivateCidrs: readonly string[] };
  uploads: { folder: string; maxBytes: number; restrictDomains: readonly string[] };
  posts: { missedAfterMinutes: number; lateSeconds: number };
  social: {
    sandboxEnabled: boolean;
    /** Where the sandbox network listens; 0 picks a free port when it runs in this process. */
    sandboxPort: number;
    sandboxUrl: string | undefined;
    returnUrlAllowlist: readonly string[];
    /** App credentials from the environment, by provider id (DE39). */
    apps: Readonly<Record<string, { clientId: string; clientSecret: string; server?: string }>>;
  };
  telemetry: { logLevel: string; otlpEndpoint: string | undefined; serviceName: string };
}
