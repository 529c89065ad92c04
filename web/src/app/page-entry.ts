import {
  Activity,
  Building2,
  Cable,
  Code,
  Images,
  Inbox,
  LayoutDashboard,
  Megaphone,
  MessageSquareText,
  ScrollText,
  Settings,
  Users,
} from 'lucide-react';
import type { ReactNode } from 'react';
import type { Need } from '../api/session.ts';

/**
 * The entries of the navigation, in order: those of the account, and those of the gateway for its operators. Each leads
 * to the first of its pages that the user may see; the others are tabs above the page.
 */
export const AREAS = {
  overview: { workspace: 'account', icon: LayoutDashboard },
  inbox: { workspace: 'account', icon: Inbox },
  campaigns: { workspace: 'account', icon: Megaphone },
  messages: { workspace: 'account', icon: MessageSquareText },
  contacts: { workspace: 'account', icon: Users },
  content: { workspace: 'account', icon: Images },
  developers: { workspace: 'account', icon: Code },
  settings: { workspace: 'account', icon: Settings },
  status: { workspace: 'gateway', icon: Activity },
  carriers: { workspace: 'gateway', icon: Cable },
  commercial: { workspace: 'gateway', icon: Building2 },
  log: { workspace: 'gateway', icon: ScrollText },
} as const;
export type Area = keyof typeof AREAS;

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
  /** The entry of the navigation that it belongs to; none for a page that only the user menu leads to. */
  readonly area?: Area;
  /** Its name among the tabs of its area, a key under `app:nav`; a page without one is reached from other pages. */
  readonly tab?: string;
};
