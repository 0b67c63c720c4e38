import { SCOPES } from '../people/access/index.ts';

/** Where this server is. */
export interface ServerAddresses {
  /** Public address of this service, without a slash at its end: it names us as issuer. */
  backendUrl: string;
  frontendUrl: string;
  /** In the place of our own, for the token endpoint alone (OA36). */
  tokenBaseUrl: string | undefined;
}

/** RFC 8414 (S96). What is named here is served. */
export const authorizationServer = ({ backendUrl, frontendUrl, tokenBaseUrl = backendUrl }: ServerAddresses) => ({
  issuer: backendUrl,
  authorization_endpoint: `${frontendUrl.replace(/\/$/, '')}/oauth/authorize`,
  token_endpoint: `${tokenBaseUrl.replace(/\/$/, '')}/oauth/token`,
  registration_endpoint: `${backendUrl}/oauth/register`,
  revocation_endpoint: `${backendUrl}/oauth/revoke`,
  response_types_supported: ['code'],
  grant_types_supported: ['authorization_code', 'refresh_token'],
  code_challenge_methods_supported: ['S256'],
  token_endpoint_auth_methods_supported: ['client_secret_post', 'client_secret_basic', 'none'],
  scopes_supported: [...SCOPES],
  authorization_response_iss_parameter_supported: true as const,
  client_id_metadata_document_supported: true as const,
});
