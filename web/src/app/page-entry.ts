import type { LucideIcon } from 'lucide-react';
import type { ReactNode } from 'react';
import type { Need } from '../api/session.ts';

/** The groups of the navigation, in order. */
export const NAV_GROUPS = ['traffic', 'people', 'files', 'access', 'operator'] as const;
export type NavGroup = (typeof NAV_GROUPS)[number];

/** One page of the console. */
export type PageEntry = {
  /** The path in the router's notation: `/campaigns`, `/campaigns/$id`. */
  readonly path: string;
  /** The folder of web/src with the page's texts (en.json, it.json). */
  readonly feature: string;
  /** Loads the page's chunk, on the first visit. */
  readonly load: () => Promise<{ readonly Page: () => ReactNode }>;
  /** The permission to see the page; people without it see the reason instead. */
  readonly need?: Need;
  /** Its place in the navigation; a page without one is reached from other pages. `label` is a key under `app:nav`. */
  readonly nav?: { readonly group: NavGroup; readonly label: string; readonly icon: LucideIcon };
};
