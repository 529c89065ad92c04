import { useTranslation } from 'react-i18next';
import { Page as Frame } from '../../ui/page.tsx';
import { choice, useUrlState } from '../../ui/url-state.ts';
import { Tabs } from '../shared/tabs.tsx';
import { Doctor } from './doctor.tsx';
import { Receipts } from './receipts.tsx';
import { Reconciliation } from './reconciliation.tsx';

const TABS = ['reconciliation', 'receipts', 'doctor'] as const;
const FIELDS = { tab: choice(TABS, 'reconciliation') };
const PANELS = { reconciliation: Reconciliation, receipts: Receipts, doctor: Doctor };

/** The page of system health: reconciliation, receipts and server. */
export function Page() {
  const { t } = useTranslation('operator');
  const [{ tab }, setSearch] = useUrlState(FIELDS);
  const Panel = PANELS[tab];
  return (
    <Frame title={t('health.title')} description={t('health.description')}>
      <Tabs
        tabs={TABS}
        nameOf={(each) => t(`health.tab.${each}`)}
        active={tab}
        onChange={(next) => setSearch({ tab: next })}
      >
        <Panel />
      </Tabs>
    </Frame>
  );
}
