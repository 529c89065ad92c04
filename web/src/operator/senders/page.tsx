import { Suspense } from 'react';
import { useTranslation } from 'react-i18next';
import { lazyPart } from '../../api/connection/lazy-part.ts';
import { Page as Frame } from '../../ui/page.tsx';
import { choice, useUrlState, whole } from '../../ui/url-state.ts';
import { Tabs } from '../shared/tabs.tsx';
import { Numbers } from './numbers.tsx';
import { Senders } from './senders.tsx';
import { Templates } from './templates.tsx';

const Pools = lazyPart(() => import('../sender-rules/pools.tsx').then((file) => ({ default: file.Pools })));
const SenderRules = lazyPart(() => import('../sender-rules/rules.tsx').then((file) => ({ default: file.SenderRules })));

const TABS = ['senders', 'numbers', 'rules', 'pools', 'templates'] as const;
/** Includes `page`, so that changing the tab starts at the first page. */
const FIELDS = { tab: choice(TABS, 'senders'), page: whole() };
const PANELS = { senders: Senders, numbers: Numbers, rules: SenderRules, pools: Pools, templates: Templates };

/** The page of senders, inbound numbers, rules for senders, pools and templates. */
export function Page() {
  const { t } = useTranslation('operator');
  const [{ tab }, setSearch] = useUrlState(FIELDS);
  const Panel = PANELS[tab];
  return (
    <Frame title={t('sender.title')} description={t('sender.description')}>
      <Tabs
        tabs={TABS}
        nameOf={(each) => t(`sender.tab.${each}`)}
        active={tab}
        onChange={(next) => setSearch({ tab: next })}
      >
        <Suspense>
          <Panel />
        </Suspense>
      </Tabs>
    </Frame>
  );
}
