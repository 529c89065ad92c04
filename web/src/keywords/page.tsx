import { MessageCircleReply, Pencil, Trash2 } from 'lucide-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { AddButton } from '../ui/actions/add-button.tsx';
import { GuardedIcon } from '../ui/actions/guarded-button.tsx';
import { EmptyState } from '../ui/empty-state.tsx';
import { Page as Frame } from '../ui/page.tsx';
import { DataTable } from '../ui/table/data-table.tsx';
import { useListQuery } from '../ui/table/use-list-query.ts';
import { listFields, useUrlState } from '../ui/url-state.ts';
import { useRuleColumns } from './columns.tsx';
import { DeleteDialog } from './delete-dialog.tsx';
import { listRules, NEED, type Rule } from './rule.ts';
import { RuleDialog } from './rule-dialog.tsx';

const FIELDS = listFields();

type Open = { readonly what: 'add' } | { readonly what: 'change' | 'delete'; readonly rule: Rule } | null;

/** The page of the rules for inbound messages by keyword. */
export function Page() {
  const { t } = useTranslation('keywords');
  const [open, setOpen] = useState<Open>(null);
  const [search, setSearch] = useUrlState(FIELDS);
  const columns = useRuleColumns();
  const query = useListQuery(['keyword-rules', search], (signal) => listRules(search, signal));
  const close = (): void => setOpen(null);
  const add = (
    <AddButton need={NEED} onClick={() => setOpen({ what: 'add' })}>
      {t('add.open')}
    </AddButton>
  );
  return (
    <Frame title={t('title')} description={t('description')} actions={add}>
      <DataTable<Rule>
        id="keyword-rules"
        label={t('title')}
        columns={columns}
        query={query}
        rowId={({ id }) => String(id)}
        search={search}
        onSearch={setSearch}
        actions={(rule) => <RuleActions rule={rule} onOpen={(what) => setOpen({ what, rule })} />}
        empty={
          <EmptyState icon={MessageCircleReply} title={t('none.title')} text={t('none.text')}>
            {add}
          </EmptyState>
        }
      />
      {open?.what === 'add' && <RuleDialog rule={null} onClose={close} />}
      {open?.what === 'change' && <RuleDialog rule={open.rule} onClose={close} />}
      <DeleteDialog rule={open?.what === 'delete' ? open.rule : null} onClose={close} />
    </Frame>
  );
}

type ActionsProps = { readonly rule: Rule; readonly onOpen: (what: 'change' | 'delete') => void };

function RuleActions({ rule: { keyword }, onOpen }: ActionsProps) {
  const { t } = useTranslation('keywords');
  return (
    <>
      <GuardedIcon need={NEED} label={t('change.label', { keyword })} onClick={() => onOpen('change')}>
        <Pencil size={16} />
      </GuardedIcon>
      <GuardedIcon need={NEED} label={t('delete.label', { keyword })} onClick={() => onOpen('delete')}>
        <Trash2 size={16} />
      </GuardedIcon>
    </>
  );
}
