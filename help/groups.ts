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
      page('docs/tutorials/first-campaign.md', 'Your first campaign'),
      page('docs/tutorials/two-way-conversation.md', 'A two-way conversation: inbox and webhook'),
      page('docs/tutorials/one-time-codes.md', 'One-time codes (OTP)'),
      page('examples/README.md', 'Examples with curl'),
    ],
  },
  {
    title: 'How-to guides',
    pages: [],
    sections: [
      {
        title: 'Install and run',
        pages: [
          howTo('first-day-in-production', 'Your first day in production'),
          page('docs/deployment.md', 'Deploy: systemd, Docker, Kubernetes'),
          howTo('behind-a-proxy', 'Behind nginx, Caddy or Traefik'),
          page('docs/operating.md', 'Operate: settings, accounts, processes'),
          howTo('backup-and-restore', 'Back up and restore'),
          howTo('standby-and-failover', 'Standby and failover'),
          howTo('upgrade', 'Upgrade'),
          howTo('capacity-planning', 'Capacity planning: cores, disk, WAL'),
          howTo('gdpr', 'GDPR: access, erasure, retention'),
          page('docs/monitoring.md', 'Monitor: Prometheus and Grafana'),
          page('docs/alerts.md', 'Alerts by mail and webhook'),
          runbook('scale-out', 'Scale out to several databases'),
          runbook('move-account', 'Move an account to another cell'),
        ],
      },
      {
        title: 'Integrate your program',
        pages: [
          howTo('webhooks', 'Webhooks in Node, Python, PHP and Go'),
          howTo('embed-the-inbox', 'Embed the inbox in your support tool'),
          howTo('test-in-ci', 'Test your integration in CI'),
          howTo('load-test', 'Load-test before launch'),
          howTo('from-twilio', 'Move from Twilio'),
          howTo('from-kannel', 'Move from Kannel'),
          howTo('from-jasmin', 'Move from Jasmin'),
        ],
      },
      {
        title: 'Connect carriers and channels',
        pages: [
          page('docs/routing.md', 'Route by prefix, cost and quality'),
          howTo('provider-by-http', 'An SMS provider by HTTP'),
          runbook('http-carrier', 'SMS by HTTP: polling, troubleshooting'),
          howTo('whatsapp-in-a-day', 'WhatsApp in a day'),
          runbook('whatsapp', 'WhatsApp: values, troubleshooting'),
          runbook('rcs', 'Connect RCS for Business'),
          runbook('social-profiles', 'Connect social profiles'),
          howTo('customer-by-smpp', 'A customer by SMPP'),
        ],
      },
      {
        title: 'Users and sign-in',
        pages: [
          page('docs/single-sign-on.md', 'Single sign-on (OpenID Connect)'),
          page('docs/second-factors.md', 'Two-factor authentication and passkeys'),
          page('docs/invitations.md', 'Invite users, reset passwords'),
        ],
      },
      {
        title: 'Troubleshooting',
        pages: [
          runbook('carrier-down', 'A carrier is down'),
          runbook('stuck-queue', 'Messages wait in the queue'),
          runbook('unknown-outcomes', 'Messages are UNKNOWN'),
          runbook('webhook-storm', 'Webhooks fail or pile up'),
          runbook('low-disk', 'The disk fills up'),
          runbook('restored-backup', 'Sending is paused after a restore'),
          runbook('database-server-gone', 'A database server is gone'),
        ],
      },
    ],
  },
  {
    title: 'Reference',
    pages: [
      page('docs/api.md', 'API: authentication, requests, webhooks'),
      page('docs/operations.md', 'API operations'),
      page('docs/errors.md', 'Errors and status codes'),
      page('docs/permissions.md', 'Permissions and scopes'),
      page('docs/configuration.md', 'Settings (environment variables)'),
      page('docs/carriers.md', 'Carrier connection settings'),
      page('docs/smpp.md', 'SMPP server'),
      page('docs/limits.md', 'Limits'),
      page('docs/data-model.md', 'Data model for analysts'),
      runbook('whatsapp-errors', 'WhatsApp error codes'),
      page('client/README.md', 'TypeScript client'),
      page('CHANGELOG.md', 'Changelog'),
    ],
  },
  {
    title: 'Explanation',
    pages: [
      page('docs/concepts.md', 'Concepts and glossary'),
      page('docs/message-states.md', 'Message and campaign status'),
      page('docs/guarantees.md', 'Guarantees, and what they rest on'),
      page('docs/billing.md', 'Billing: how prices and credit add up'),
      page('docs/comparison.md', 'Comparison, and when not to use it'),
      page('ARCHITECTURE.md', 'Architecture'),
      page('docs/about.md', 'About: licence, support, versions'),
      page('THIRD-PARTY-NOTICES.md', 'Third-party notices'),
      page('SECURITY.md', 'Security'),
      page('proofs/README.md', 'Proofs of the guarantees'),
      page('RELEASING.md', 'Versions and what they promise'),
      page('CONTRIBUTING.md', 'Contributing'),
      page('CODE_OF_CONDUCT.md', 'Code of conduct'),
    ],
  },
];
