/** A page of the site: its Markdown in the repository, and its title in the navigation, in words that people search. */
export type Page = { readonly source: string; readonly title: string };
export type Section = { readonly title: string; readonly pages: readonly Page[] };
/** One of the four groups of the navigation. */
export type Group = { readonly title: string; readonly pages: readonly Page[]; readonly sections?: readonly Section[] };

const page = (source: string, title: string): Page => ({ source, title });
const howTo = (name: string, title: string): Page => page(`docs/how-to/${name}.md`, title);
const runbook = (name: string, title: string): Page => page(`docs/runbooks/${name}.md`, title);

/** All pages of the site but its first one and the decisions. `planPages` refuses a page of docs that is in no group. */
export const GROUPS: readonly Group[] = [
  {
    title: 'Tutorials',
    pages: [
      page('README.md', 'Install and send your first SMS'),
      page('docs/quick-start.md', 'Quick start: webhook, campaign, inbox'),
      page('docs/tutorials/first-campaign-in-the-console.md', 'Your first campaign in the console'),
      page('docs/tutorials/first-campaign.md', 'Your first campaign through the API'),
      page('docs/tutorials/one-time-codes.md', 'One-time codes (OTP)'),
      page('docs/tutorials/two-way-conversation.md', 'A two-way conversation: inbox and webhook'),
      page('examples/README.md', 'Examples with curl'),
    ],
  },
  {
    title: 'How-to guides',
    pages: [],
    sections: [
      {
        title: 'Install',
        pages: [
          page('docs/deployment.md', 'Choose an installation'),
          howTo('install-debian', 'Debian, systemd'),
          howTo('install-compose', 'Docker Compose'),
          howTo('install-kubernetes', 'Kubernetes (Helm)'),
          howTo('install-several-machines', 'Two to five machines'),
          howTo('first-day-in-production', 'Your first day in production'),
          howTo('postgresql', 'PostgreSQL: your own, over TLS, with poolers'),
          howTo('behind-a-proxy', 'Behind nginx, Caddy or Traefik'),
        ],
      },
      {
        title: 'Run',
        pages: [
          page('docs/operating.md', 'Operate: commands, accounts, processes'),
          howTo('backup-and-restore', 'Back up and restore'),
          howTo('upgrade', 'Upgrade, and go back'),
          howTo('standby-and-failover', 'Standby and failover'),
          page('docs/monitoring.md', 'Monitor: Prometheus, Grafana, OpenTelemetry'),
          page('docs/alerts.md', 'Alerts by email and webhook'),
          howTo('capacity-planning', 'Capacity planning: cores, disk, WAL'),
          howTo('gdpr', 'GDPR: access, erasure, retention'),
          howTo('cells', 'Cells: several installations'),
        ],
      },
      {
        title: 'Move here',
        pages: [
          howTo('drop-in', 'Replace a partner-gateway API'),
          howTo('from-twilio', 'Move from Twilio'),
          howTo('from-kannel', 'Move from Kannel'),
          howTo('from-jasmin', 'Move from Jasmin'),
        ],
      },
      {
        title: 'Integrate your program',
        pages: [
          howTo('verify', 'Verify numbers with codes, and stop SMS pumping'),
          howTo('webhooks', 'Webhooks in Node, Python, PHP and Go'),
          howTo('events', 'Build on events'),
          howTo('embed-the-inbox', 'Embed the inbox in your support tool'),
          howTo('test-in-ci', 'Test your integration in CI'),
          howTo('load-test', 'Load-test before launch'),
        ],
      },
      {
        title: 'Connect carriers and channels',
        pages: [
          page('docs/routing.md', 'Route by prefix, cost and quality'),
          howTo('senders-by-country', 'Senders by country, registrations'),
          howTo('provider-by-http', 'An SMS provider over HTTP'),
          howTo('whatsapp-in-a-day', 'WhatsApp in a day'),
          howTo('whatsapp', 'WhatsApp: values, troubleshooting'),
          howTo('rcs', 'Connect RCS for Business'),
          howTo('social-profiles', 'Connect social profiles'),
          howTo('customer-by-smpp', 'Connect a customer over SMPP'),
        ],
      },
      {
        title: 'Users and sign-in',
        pages: [
          page('docs/invitations.md', 'Invite users, reset passwords'),
          page('docs/second-factors.md', 'Two-factor authentication and passkeys'),
          page('docs/single-sign-on.md', 'Single sign-on (OpenID Connect)'),
        ],
      },
      {
        title: 'Runbooks',
        pages: [
          runbook('carrier-down', 'A carrier is down'),
          runbook('stuck-queue', 'Messages wait in the queue'),
          runbook('unknown-outcomes', 'Messages are UNKNOWN'),
          runbook('webhook-storm', 'Webhooks fail or pile up'),
          runbook('everything-slow', 'Everything is slow'),
          runbook('low-disk', 'The disk fills up'),
          runbook('certificate-expired', 'A certificate has expired'),
          runbook('restored-backup', 'Sending is paused after a restore'),
          runbook('database-server-gone', 'A database server is gone'),
          runbook('locked-out', 'A person is locked out'),
          runbook('sms-pumping', 'SMS pumping'),
        ],
      },
    ],
  },
  {
    title: 'Reference',
    pages: [
      page('docs/api.md', 'API: authentication, requests, webhooks'),
      page('docs/operations.md', 'API operations, scopes and roles'),
      page('docs/errors.md', 'Errors and status codes'),
      page('docs/commands.md', 'Commands'),
      page('docs/configuration.md', 'Settings (environment variables)'),
      page('docs/carriers.md', 'Carrier connection settings'),
      page('docs/whatsapp-errors.md', 'WhatsApp error codes'),
      page('docs/smpp.md', 'SMPP server'),
      page('docs/limits.md', 'Limits'),
      page('docs/data-model.md', 'Views for reports'),
      page('client/README.md', 'TypeScript client'),
      page('CHANGELOG.md', 'Changelog'),
    ],
  },
  {
    title: 'Explanation',
    pages: [
      page('docs/concepts.md', 'Concepts and glossary'),
      page('docs/message-states.md', 'Message and campaign status'),
      page('docs/billing.md', 'Billing: how prices and credit add up'),
      page('docs/guarantees.md', 'Guarantees, and what they rest on'),
      page('docs/comparison.md', 'Comparison, and when not to use it'),
      page('docs/about.md', 'About: licence, support, versions'),
      page('SECURITY.md', 'Security'),
      page('ARCHITECTURE.md', 'Architecture'),
      page('CONTRIBUTING.md', 'Contributing'),
      page('proofs/README.md', 'Proofs of the guarantees'),
      page('RELEASING.md', 'Versions and what they promise'),
      page('THIRD-PARTY-NOTICES.md', 'Third-party notices'),
      page('CODE_OF_CONDUCT.md', 'Code of conduct'),
    ],
  },
];
