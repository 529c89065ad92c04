import { NativeSelect, Stack, Text, Textarea, TextInput } from '@mantine/core';
import { MessageCircleReply } from 'lucide-react';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { api, ok } from '../api/send.ts';
import type { Need } from '../api/session.ts';
import { AddButton, DeleteIcon, EditIcon } from '../ui/actions.tsx';
import { type Column, DataTable, useListQuery } from '../ui/data-table.tsx';
import { openDialog, questionTexts } from '../ui/dialog.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { EmptyState, PageFrame } from '../ui/parts.tsx';
import { listFields, useUrlState } from '../ui/url-state.ts';
import { type Purpose, StatusBadge, usePurposes } from '../ui/values.tsx';

type Values = {
  readonly number: string;
  readonly keyword: string;
  readonly answer: string;
  readonly forwardTo: string;
  readonly purpose: Exclude<Purpose, ''>;
};

const orNull = (text: string): string | null => (text.trim() === '' ? null : text.trim());

const bodyOf = ({ number, keyword, answer, forwardTo, purpose }: Values) => ({
  number: orNull(number.replaceAll(' ', '')),
  keyword,
  answer: orNull(answer),
  forwardTo: orNull(forwardTo),
  purpose,
});

/** Dialog that adds a rule, or changes the given one. */
function RuleDialog({ rule }: { readonly rule?: Rule }) {
  const { t } = useTranslation('keywords');
  const purposes = usePurposes();
  return (
    <FormDialog
      title={t(rule ? 'change.title' : 'add.title')}
      size="md"
      values={{
        number: rule?.number ?? '',
        keyword: rule?.keyword ?? '',
        answer: rule?.answer ?? '',
        forwardTo: rule?.forwardTo ?? '',
        purpose: rule?.purpose ?? 'service',
      }}
      run={async (values) =>
        rule
          ? ok(api.PATCH(`${RULES}/{id}`, { params: { path: { id: rule.id } }, body: bodyOf(values) }))
          : ok(api.POST(RULES, { body: bodyOf(values) }))
      }
      refresh={RULE_KEYS}
      done={t('saved')}
      action={t('save')}
    >
      {(form) => (
        <>
          <TextInput
            label={t('keyword')}
            description={t('keywordHint')}
            data-autofocus
            required
            {...form.getInputProps('keyword')}
          />
          <TextInput
            label={t('number')}
            description={t('numberHint')}
            inputMode="tel"
            dir="ltr"
            {...form.getInputProps('number')}
          />
          <Textarea
            label={t('answer')}
            description={t('answerHint')}
            autosize
            minRows={2}
            {...form.getInputProps('answer')}
          />
          <NativeSelect
            label={t('ui:purpose.label')}
            data={purposes.filter(({ value }) => value !== '')}
            {...form.getInputProps('purpose')}
          />
          <TextInput
            label={t('forwardTo')}
            description={t('forwardToHint')}
            dir="ltr"
            {...form.getInputProps('forwardTo')}
          />
        </>
      )}
    </FormDialog>
  );
}

const FIELDS = listFields();

/** The page of the rules for inbound messages by keyword. */
export function Page() {
  const { t } = useTranslation('keywords');
  const [search, setSearch] = useUrlState(FIELDS);
  const columns = useRuleColumns();
  const query = useListQuery(['keyword-rules', search], (signal) => listRules(search, signal));
  const add = (
    <AddButton need={NEED} onClick={() => openDialog(<RuleDialog />)}>
      {t('add.open')}
    </AddButton>
  );
  return (
    <PageFrame title={t('title')} description={t('description')} actions={add}>
      <DataTable<Rule>
        id="keyword-rules"
        label={t('title')}
        columns={columns}
        query={query}
        rowId={({ id }) => String(id)}
        search={search}
        onSearch={setSearch}
        actions={(rule) => <RuleActions rule={rule} />}
        empty={
          <EmptyState icon={MessageCircleReply} title={t('none.title')} text={t('none.text')}>
            {add}
          </EmptyState>
        }
      />
    </PageFrame>
  );
}

function RuleActions({ rule }: { readonly rule: Rule }) {
  const { t } = useTranslation('keywords');
  const { id, keyword } = rule;
  return (
    <>
      <EditIcon need={NEED} label={t('change.label', { keyword })} dialog={<RuleDialog rule={rule} />} />
      <DeleteIcon
        need={NEED}
        label={t('delete.label', { keyword })}
        question={{
          ...questionTexts(t, 'delete', { keyword }),
          run: () => ok(api.DELETE(`${RULES}/{id}`, { params: { path: { id } } })),
          refresh: RULE_KEYS,
        }}
      />
    </>
  );
}

function useRuleColumns(): readonly Column<Rule>[] {
  const { t } = useTranslation('keywords');
  return useMemo(
    () => [
      { id: 'keyword', header: t('keyword'), phone: 'title', cell: ({ keyword }) => <Keyword keyword={keyword} /> },
      { id: 'number', header: t('number'), cell: ({ number }) => number ?? t('anyNumber') },
      { id: 'answer', header: t('answer'), cell: ({ answer }) => <Foreign text={answer} /> },
      { id: 'forwardTo', header: t('forwardTo'), cell: (rule) => <Forward rule={rule} /> },
    ],
    [t],
  );
}

function Keyword({ keyword }: Pick<Rule, 'keyword'>) {
  const { t } = useTranslation('keywords');
  return <span dir="auto">{keyword === '*' ? t('anyKeyword') : keyword}</span>;
}

function Foreign({ text }: { readonly text: string | null }) {
  return (
    <Text size="sm" className="foreign-text" dir="auto" lineClamp={2}>
      {text ?? '–'}
    </Text>
  );
}

function Forward({ rule: { forwardTo, fault } }: { readonly rule: Rule }) {
  const { t } = useTranslation('keywords');
  return (
    <Stack gap={2}>
      <Foreign text={forwardTo} />
      {fault !== null && <StatusBadge tone="warning">{t('fault', { fault })}</StatusBadge>}
    </Stack>
  );
}

/** The permission that changes to rules require, in addition to that of the inbox. */
const NEED: Need = { scope: 'webhooks', write: true };

const RULES = '/api/partner-gateway/v1/keyword-rules';

type Search = { readonly page: number; readonly limit: number };

const listRules = ({ page, limit }: Search, signal: AbortSignal) =>
  ok(api.GET(RULES, { params: { query: { page, limit } }, signal }));
type Rule = Awaited<ReturnType<typeof listRules>>['data'][number];

const RULE_KEYS = [['keyword-rules']] as const;
