import { SearchDialog } from '../../../search/search-dialog.tsx';
import type { PageEntry } from '../../page-entry.ts';
import { usePlaces } from './use-places.ts';

type SearchPanelProps = {
  readonly opened: boolean;
  readonly onClose: () => void;
  readonly pages: readonly PageEntry[];
};

/** The search with the pages and actions of the console, loaded by `SearchButton` on its first use. */
export const SearchPanel = ({ pages, ...props }: SearchPanelProps) => (
  <SearchDialog {...props} places={usePlaces(pages)} />
);
