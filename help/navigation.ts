import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { GROUPS, type Page } from './groups.ts';
import { titleOf } from './markdown.ts';
import { addressOf, planPages } from './plan.ts';

type Item = { readonly text: string; readonly link: string };
type Entry = { readonly text: string; readonly collapsed: boolean; readonly items: (Item | Entry)[] };

const ROOT = join(import.meta.dirname, '..');
const item = ({ source, title }: Page): Item => ({ text: title, link: `/${addressOf(source)}` });

/** Returns the four groups as entries of the sidebar. */
export const groupsNav = (): Entry[] =>
  GROUPS.map(({ title, pages, sections = [] }) => ({
    text: title,
    collapsed: false,
    items: [
      ...pages.map(item),
      ...sections.map((section) => ({ text: section.title, collapsed: true, items: section.pages.map(item) })),
    ],
  }));

/** Lists the decisions, with the titles that their pages have. */
export async function listDecisions(): Promise<Page[]> {
  const { pages } = await planPages();
  const sources = [...pages.keys()].filter((source) => source.startsWith('docs/decisions/'));
  return Promise.all(
    sources.map(async (source) => ({
      source,
      title: titleOf(await readFile(join(ROOT, source), 'utf8')) ?? source,
    })),
  );
}

/** Returns the decisions as an entry of the sidebar, closed: they are many. */
export const decisionsNav = async (): Promise<Entry> => ({
  text: 'Design decisions',
  collapsed: true,
  items: (await listDecisions()).map(item),
});
