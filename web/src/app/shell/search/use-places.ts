import { useTranslation } from 'react-i18next';
import { useSession } from '../../../api/session.ts';
import type { PageEntry } from '../../page-entry.ts';
import type { Entry } from '../../../search/entry.ts';
import { useActions } from './use-actions.ts';

/** The pages and actions that the user may use, for the search. */
export function usePlaces(pages: readonly PageEntry[]): readonly Entry[] {
  const links = useNavEntries(pages);
  const actions = useActions();
  return [...links, ...actions];
}

function useNavEntries(pages: readonly PageEntry[]): readonly Entry[] {
  const { t } = useTranslation('app');
  const { may } = useSession();
  return pages.flatMap(({ path, nav, need }) =>
    nav !== undefined && may(need ?? {})
      ? [
          {
            id: path,
            group: 'pages' as const,
            title: t(`nav.${nav.label}`),
            detail: t(`navGroup.${nav.group}`),
            icon: nav.icon,
            to: path,
          },
        ]
      : [],
  );
}
