export { type Rendered, type Site, siteOf } from './layout.ts';
export { MailContent, type Template } from './templates.ts';
export type { MailTransport } from './mail-transport.ts';
export { openOverride } from './override.ts';
export type { Email, Mail } from './port.ts';
export { type EmailOptions, type EmailRoom, openEmail } from './service.ts';
export { EMAIL_STATUSES, emailsRetention, isUndeliverable, type EmailRow, type EmailStatus } from './store.ts';
export { render } from './texts.ts';
