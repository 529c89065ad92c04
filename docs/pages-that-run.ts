/** The pages that a reader takes first, in that order: they are run one after the other, twice, on one database. */
export const FIRST_PAGES: readonly string[] = [
  'README.md',
  'docs/quick-start.md',
  'docs/tutorials/first-campaign.md',
  'docs/tutorials/one-time-codes.md',
  'docs/tutorials/two-way-conversation.md',
];

/**
 * Expectations of blocks.full.test.ts about a page: the number of blocks marked `norun`, which need something that a
 * test does not have; and, for a page that assumes a running program, the commands after whose start it begins.
 */
export type RunnablePage = { readonly norun: number; readonly before?: string };

const COMMAND = 'npm run -s heliograph --';
const connection = (name: string): string =>
  `${COMMAND} connection add smpp --name ${name} --host 127.0.0.1 --port 2775 --system-id any --password any || true`;

export const PAGES: Readonly<Record<string, RunnablePage>> = {
  'README.md': { norun: 1 },
  'docs/quick-start.md': { norun: 0 },
  'docs/tutorials/first-campaign.md': { norun: 0 },
  'docs/tutorials/one-time-codes.md': { norun: 0 },
  'docs/tutorials/two-way-conversation.md': { norun: 0 },
  'docs/how-to/drop-in.md': { norun: 0 },
  'docs/how-to/verify.md': { norun: 0 },
  'docs/how-to/webhooks.md': { norun: 0 },
  'docs/how-to/events.md': { norun: 0 },
  'docs/how-to/embed-the-inbox.md': { norun: 0 },
  'docs/how-to/from-twilio.md': { norun: 0 },
  'docs/how-to/from-kannel.md': { norun: 0 },
  'docs/how-to/from-jasmin.md': { norun: 0 },
  'docs/how-to/gdpr.md': { norun: 0 },
  'docs/how-to/test-in-ci.md': { norun: 0 },
  'docs/how-to/load-test.md': { norun: 0 },
  'docs/how-to/install-debian.md': { norun: 5 },
  'docs/how-to/install-compose.md': { norun: 5 },
  'docs/how-to/install-kubernetes.md': { norun: 2 },
  'docs/how-to/install-several-machines.md': { norun: 1 },
  'docs/how-to/first-day-in-production.md': { norun: 2 },
  'docs/how-to/behind-a-proxy.md': { norun: 1 },
  'docs/how-to/backup-and-restore.md': { norun: 1 },
  'docs/how-to/standby-and-failover.md': { norun: 4 },
  'docs/how-to/cells.md': { norun: 2 },
  'docs/how-to/whatsapp-in-a-day.md': { norun: 2 },
  'docs/how-to/whatsapp.md': { norun: 1 },
  'docs/how-to/rcs.md': { norun: 2 },
  'docs/how-to/provider-by-http.md': { norun: 4 },
  'docs/how-to/customer-by-smpp.md': { norun: 1 },
  'docs/how-to/senders-by-country.md': { norun: 0, before: `${COMMAND} account create --name Acme` },
  'docs/operating.md': { norun: 1, before: connection('acme') },
  'docs/billing.md': { norun: 0 },
  'docs/smpp.md': { norun: 1 },
  'docs/alerts.md': { norun: 1, before: '' },
  'docs/routing.md': {
    norun: 1,
    before: `${COMMAND} account create --name Acme\n${['tim', 'premium', 'night'].map(connection).join('\n')}\n`,
  },
};
