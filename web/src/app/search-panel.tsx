import { useMantineColorScheme } from '@mantine/core';
import { Cable, FileUp, Languages, type LucideIcon, Megaphone, Moon, Send, Sun } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { LANGUAGES } from '../api/data.ts';
import { type Need, useSession } from '../api/session.ts';
import { type Entry, SearchDialog } from '../search/search-dialog.tsx';
import { changeLanguage } from './i18n.ts';
import { AREAS, type PageEntry } from './page-entry.ts';

type Opener = { readonly name: string; readonly to: string; readonly icon: LucideIcon; readonly need: Need };

/** Actions that begin on a separate page. */
const OPENERS: readonly Opener[] = [
  { name: 'send', to: '/send', icon: Send, need: { write: true } },
  { name: 'campaign', to: '/campaigns/editor', icon: Megaphone, need: { scope: 'campaigns', write: true } },
  { name: 'import', to: '/contacts/import', icon: FileUp, need: { scope: 'contacts', write: true } },
  { name: 'connection', to: '/operator/connections/new', icon: Cable, need: { operator: true } },
];

/** Actions that the user may begin or settings they may change from the search, on any page. */
function useActions(): readonly Entry[] {
  const { t, i18n } = useTranslation('search');
  const { may } = useSession();
  const { setColorScheme } = useMantineColorScheme();
  const group = 'actions' as const;
  const openers = OPENERS.filter(({ need }) => may(need)).map(({ name, to, icon }) => ({
    id: `action-${name}`,
    group,
    title: t(`action.${name}`),
    icon,
    to,
  }));
  const schemes = (['light', 'dark'] as const).map((scheme) => ({
    id: `scheme-${scheme}`,
    group,
    title: t(`action.${scheme}`),
    icon: scheme === 'light' ? Sun : Moon,
    run: () => setColorScheme(scheme),
  }));
  const languages = LANGUAGES.filter((language) => language !== i18n.language).map((language) => ({
    id: `language-${language}`,
    group,
    title: t('action.language', { language: t(`app:language.${language}`) }),
    icon: Languages,
    run: () => void changeLanguage(i18n, language),
  }));
  return [...openers, ...schemes, ...languages];
}

/** The pages and actions that the user may use, for the search. */
function usePlaces(pages: readonly PageEntry[]): readonly Entry[] {
  const links = useNavEntries(pages);
  const actions = useActions();
  return [...links, ...actions];
}

function useNavEntries(pages: readonly PageEntry[]): readonly Entry[] {
  const { t } = useTranslation('app');
  const { may } = useSession();
  return pages.flatMap(({ path, area, tab, need }) =>
    area !== undefined && tab !== undefined && may(need ?? {})
      ? [
          {
            id: path,
            group: 'pages' as const,
            title: t(`nav.${tab}`),
            detail: t(`area.${area}`),
            icon: AREAS[area].icon,
            to: path,
          },
        ]
      : [],
  );
}

type SearchPanelProps = {
  readonly opened: boolean;
  readonly onClose: () => void;
  readonly pages: readonly PageEntry[];
  readonly takeTyped: () => string;
};

/** The search with the pages and actions of the console, loaded by `SearchButton` on its first use. */
export const SearchPanel = ({ pages, ...props }: SearchPanelProps) => (
  <SearchDialog {...props} places={usePlaces(pages)} />
);
