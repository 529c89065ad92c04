import type { Need } from './api/session.ts';
import type { Area, PageEntry } from './app/page-entry.ts';

/** The pages of an area, with the permission that all of them require unless they name their own. */
const within = (area: Area, need: Need, pages: readonly PageEntry[]): readonly PageEntry[] =>
  pages.map((page) => ({ area, need, ...page }));

/** The list of all pages: path, permission, place in the navigation and chunk. Tabs are in the order of this list. */
export const PAGES: readonly PageEntry[] = [
  ...within('overview', {}, [
    { path: '/', tab: 'overview', feature: 'overview', load: () => import('./overview/page.tsx') },
  ]),
  ...within('inbox', { scope: 'inbox' }, [
    { path: '/inbox', tab: 'inbox', feature: 'inbox', load: () => import('./inbox/page.tsx') },
    { path: '/keywords', tab: 'keywords', feature: 'keywords', load: () => import('./keywords/page.tsx') },
    {
      path: '/inbox/settings',
      tab: 'inboxSettings',
      feature: 'inbox',
      load: () => import('./inbox/settings-page.tsx'),
    },
  ]),
  ...within('campaigns', { scope: 'campaigns' }, [
    { path: '/campaigns', tab: 'campaigns', feature: 'campaigns', load: () => import('./campaigns/listing-page.tsx') },
    {
      path: '/campaigns/editor',
      feature: 'campaigns',
      need: { scope: 'campaigns', write: true },
      load: () => import('./campaigns/editor-page.tsx'),
    },
    { path: '/campaigns/compare', feature: 'campaigns', load: () => import('./campaigns/compare-page.tsx') },
    { path: '/campaigns/$id', feature: 'campaigns', load: () => import('./campaigns/detail-page.tsx') },
  ]),
  ...within('messages', {}, [
    {
      path: '/messages',
      tab: 'messages',
      feature: 'messages',
      need: { scope: 'tracking' },
      load: () => import('./messages/page.tsx'),
    },
    {
      path: '/messages/$id',
      feature: 'messages',
      need: { scope: 'tracking' },
      load: () => import('./messages/detail-page.tsx'),
    },
    { path: '/scheduled', tab: 'scheduled', feature: 'messages', load: () => import('./messages/scheduled-page.tsx') },
    { path: '/send', tab: 'send', feature: 'send', need: { write: true }, load: () => import('./send/page.tsx') },
    {
      path: '/verify',
      tab: 'verify',
      feature: 'verify',
      need: { scope: 'verify' },
      load: () => import('./verify/page.tsx'),
    },
    {
      path: '/exports',
      tab: 'exports',
      feature: 'exports',
      need: { scope: 'exports' },
      load: () => import('./exports/page.tsx'),
    },
  ]),
  ...within('contacts', { scope: 'contacts' }, [
    { path: '/contacts', tab: 'contacts', feature: 'contacts', load: () => import('./contacts/listing-page.tsx') },
    { path: '/contacts/import', feature: 'contacts', load: () => import('./contacts/import-page.tsx') },
    { path: '/contacts/$id', feature: 'contacts', load: () => import('./contacts/detail-page.tsx') },
    { path: '/lists', tab: 'lists', feature: 'lists', load: () => import('./lists/page.tsx') },
    { path: '/lists/$id', feature: 'contacts', load: () => import('./contacts/list-page.tsx') },
    {
      path: '/contacts/opt-outs',
      tab: 'optOuts',
      feature: 'contacts',
      load: () => import('./contacts/opt-outs-page.tsx'),
    },
    { path: '/contacts/fields', tab: 'fields', feature: 'contacts', load: () => import('./contacts/fields-page.tsx') },
  ]),
  ...within('content', {}, [
    {
      path: '/account/templates',
      tab: 'templates',
      feature: 'account',
      load: () => import('./account/templates-page.tsx'),
    },
    {
      path: '/media',
      tab: 'media',
      feature: 'media',
      need: { scope: 'media' },
      load: () => import('./media/page.tsx'),
    },
  ]),
  ...within('developers', { scope: 'keys' }, [
    { path: '/api-keys', tab: 'apiKeys', feature: 'api-keys', load: () => import('./api-keys/page.tsx') },
    {
      path: '/webhooks',
      tab: 'webhooks',
      feature: 'webhooks',
      need: { scope: 'webhooks' },
      load: () => import('./webhooks/page.tsx'),
    },
    { path: '/smpp', tab: 'smpp', feature: 'smpp', load: () => import('./smpp/page.tsx') },
  ]),
  ...within('settings', {}, [
    { path: '/account', tab: 'credit', feature: 'account', load: () => import('./account/page.tsx') },
    {
      path: '/account/campaigns',
      tab: 'campaignRules',
      feature: 'account',
      need: { scope: 'campaigns' },
      load: () => import('./account/campaigns-page.tsx'),
    },
    { path: '/account/numbers', tab: 'numbers', feature: 'account', load: () => import('./account/numbers-page.tsx') },
    {
      path: '/account/senders',
      tab: 'accountSenders',
      feature: 'account',
      load: () => import('./account/senders-page.tsx'),
    },
    { path: '/users', tab: 'users', feature: 'users', need: { scope: 'keys' }, load: () => import('./users/page.tsx') },
    { path: '/security', tab: 'security', feature: 'security', load: () => import('./security/page.tsx') },
    {
      path: '/security/single-sign-on',
      feature: 'single-sign-on',
      need: { scope: 'keys' },
      load: () => import('./single-sign-on/page.tsx'),
    },
    {
      path: '/social',
      tab: 'social',
      feature: 'social',
      need: { scope: 'social' },
      load: () => import('./social/page.tsx'),
    },
  ]),
  { path: '/profile', feature: 'users', load: () => import('./users/profile-page.tsx') },
  ...within('status', { operator: true }, [
    { path: '/operator', tab: 'operator', feature: 'operator', load: () => import('./operator/overview-page.tsx') },
    { path: '/operator/alerts', tab: 'alerts', feature: 'alerts', load: () => import('./alerts/page.tsx') },
    { path: '/operator/queues', tab: 'queues', feature: 'operator', load: () => import('./operator/queues-page.tsx') },
    { path: '/operator/health', tab: 'health', feature: 'operator', load: () => import('./operator/health-page.tsx') },
  ]),
  ...within('carriers', { operator: true }, [
    {
      path: '/operator/connections',
      tab: 'connections',
      feature: 'operator',
      load: () => import('./operator/connections-page.tsx'),
    },
    { path: '/operator/connections/new', feature: 'operator', load: () => import('./operator/new-page.tsx') },
    { path: '/operator/connections/$name', feature: 'operator', load: () => import('./operator/detail-page.tsx') },
    { path: '/operator/routes', tab: 'routes', feature: 'operator', load: () => import('./operator/routes-page.tsx') },
    {
      path: '/operator/unknowns',
      tab: 'unknowns',
      feature: 'operator',
      load: () => import('./operator/unknowns-page.tsx'),
    },
    { path: '/operator/binds', tab: 'binds', feature: 'operator', load: () => import('./operator/binds-page.tsx') },
  ]),
  ...within('commercial', { operator: true }, [
    {
      path: '/operator/accounts',
      tab: 'accounts',
      feature: 'operator',
      load: () => import('./operator/accounts-page.tsx'),
    },
    { path: '/operator/accounts/$id', feature: 'operator', load: () => import('./operator/accounts-detail-page.tsx') },
    { path: '/operator/prices', tab: 'prices', feature: 'operator', load: () => import('./operator/prices-page.tsx') },
    {
      path: '/operator/senders',
      tab: 'senders',
      feature: 'operator',
      load: () => import('./operator/senders-page.tsx'),
    },
  ]),
  ...within('log', { operator: true }, [
    { path: '/operator/log', tab: 'gatewayLog', feature: 'operator', load: () => import('./operator/log-page.tsx') },
  ]),
];
