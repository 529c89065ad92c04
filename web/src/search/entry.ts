import type { LucideIcon } from 'lucide-react';

/** The groups of results, in the order in which they are shown. */
export const GROUPS = ['messages', 'contacts', 'campaigns', 'accounts', 'pages', 'actions', 'lists'] as const;
export type Group = (typeof GROUPS)[number];

/** One result of the search: choosing it opens an address, or does something. */
export type Entry = {
  readonly id: string;
  readonly group: Group;
  readonly title: string;
  readonly detail?: string | undefined;
  readonly icon: LucideIcon;
} & ({ readonly to: string; readonly search?: Readonly<Record<string, string>> } | { readonly run: () => void });

/** Lower-case letters without accents, so that `citta` finds "Città". */
const plain = (text: string): string => text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase();

/** Returns true if each word of a text begins a word of a title, as `imp con` does with "Import contacts". */
export function isMatch(title: string, text: string): boolean {
  const words = plain(title).split(/[^\p{L}\p{N}]+/u);
  const wanted = plain(text)
    .split(/\s+/)
    .filter((part) => part !== '');
  return wanted.every((part) => words.some((word) => word.startsWith(part)));
}
