import { useTranslation } from 'react-i18next';
import { Page as Frame } from '../../ui/page.tsx';
import { choice, useUrlState, whole } from '../../ui/url-state.ts';
import { Costs } from '../costs/costs.tsx';
import { Margins } from '../margins/margins.tsx';
import { Tabs } from '../shared/tabs.tsx';
import { Prices } from './prices.tsx';

const TABS = ['prices', 'costs', 'margins'] as const;
/** Includes `page`, so that changing the tab starts at the first page. */
const FIELDS = { tab: choice(TABS, 'prices'), page: whole() };
const PANELS = { prices: Prices, costs: Costs, margins: Margins };

/** The page of the selling prices and the charges of carriers. */
export function Page() {
  const { t } = useTranslation('operator');
  const [{ tab }, setSearch] = useUrlState(FIELDS);
  const Panel = PANELS[tab];
  return (
    <Frame title={t('price.title')} description={t('price.description')}>
      <Tabs
        tabs={TABS}
        nameOf={(each) => t(`cost.tab.${each}`)}
        active={tab}
        onChange={(next) => setSearch({ tab: next })}
      >
        <Panel />
      </Tabs>
    </Frame>
  );
}
