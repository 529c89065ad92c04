import { KeyRound, LayoutDashboard } from 'lucide-react';
import type { PageEntry } from './app/page-entry.ts';

/** THE list of pages. Their order is that of the navigation; the address, the feature's folder, the file, who may. */
export const PAGES: readonly PageEntry[] = [
  {
    path: '/',
    feature: 'overview',
    load: () => import('./overview/page.tsx'),
    nav: { group: 'traffic', label: 'overview', icon: LayoutDashboard },
  },
  {
    path: '/api-keys',
    feature: 'api-keys',
    load: () => import('./api-keys/page.tsx'),
    need: { scope: 'keys' },
    nav: { group: 'access', label: 'apiKeys', icon: KeyRound },
  },
];
