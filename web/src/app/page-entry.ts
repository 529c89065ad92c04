import type { LucideIcon } from 'lucide-react';
import type { ReactNode } from 'react';
import type { Need } from '../api/session.ts';

/** The parts of the navigation, in their order. */
export const NAV_GROUPS = ['traffic', 'people', 'files', 'access', 'operator'] as const;
export type NavGroup = (typeof NAV_GROUPS)[number];

/** One page of the console. */
export type PageEntry = {
  /** As the router writes it: `/campaigns`, `/campaigns/$id`. */
  readonly path: string;
  /** The folder of web/src whose texts (en.json, it.json) the page needs. */
  readonly feature: string;
  /** A file of its own in the browser, fetched with the first visit. */
  readonly load: () => Promise<{ readonly Page: () => ReactNode }>;
  /** Who may not, sees why in place of the page. */
  readonly need?: Need;
  /** Its place in the navigation; a page without one is reached from others. `label` is a key of `app:nav`. */
  readonly nav?: { readonly group: NavGroup; readonly label: string; readonly icon: LucideIcon };
};
