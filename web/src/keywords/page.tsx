import { Stack, Text, Textarea, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { MessageCircleReply, Pencil, Trash2 } from 'lucide-react';
import { useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { api, ok } from '../api/send.ts';
import type { Need } from '../api/session.ts';
import { AddButton, GuardedIcon } from '../ui/actions.tsx';
import { type Column, DataTable } from '../ui/data-table.tsx';
import { ConfirmDialog, Dialog, DialogForm } from '../ui/dialog.tsx';
import { EmptyState, PageFrame, useLast } from '../ui/parts.tsx';
import { listFields, useUrlState } from '../ui/url-state.ts';
import { useListQuery } from '../ui/use-list-query.ts';
import { StatusBadge } from '../ui/values.tsx';

type RuleProps = { readonly rule: Rule | null; readonly onClose: () => void };

/** Dialog that adds a rule, or changes the given one. */
function RuleDialog({ rule, onClose }: RuleProps) {
  const { t } = useTranslation('keywords');
  return (
    <Dialog opened onClose={onClose} title={t(rule ? 'change.title' : 'add.title')} size="md">
      <Fields rule={rule} onClose={onClose} />
    </Dialog>
  );
}

type Values = {
  readonly number: string;
  readonly keyword: string;
  readonly answer: string;
  readonly forwardTo: string;
};

const orNull = (text: string): string | null => (text.trim() === '' ? null : text.trim());

const bodyOf = ({ number, keyword, answer, forwardTo }: Values) => ({
  number: orNull(number.replaceAll(' ', '')),
  keyword,
  answer: orNull(answer),
  forwardTo: orNull(forwardTo),
});

function Fields({ rule, onClose }: RuleProps) {
  const { t } = useTranslation('keywords');
  const form = useForm<Values>({
    initialValues: {
      number: rule?.number ?? '',
      keyword: rule?.keyword ?? '',
      answer: rule?.answer ?? '',
      forwardTo: rule?.forwardTo ?? '',
    },
  });
  const saving = useAction<Values, unknown>({
    run: (values) =>
      rule
        ? ok(api.PATCH(`${RULES}/{id}`, { params: { path: { id: rule.id } }, body: bodyOf(values) }))
        : ok(api.POST(RULES, { body: bodyOf(values) })),
    refresh: RULE_KEYS,
    done: t('saved'),
    form,
    onDone: onClose,
  });
  return (
    <DialogForm
      onSubmit={form.onSubmit((values) => saving.run(values))}
      action={t('save')}
      busy={saving.busy}
      onClose={onClose}
    >
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
      <TextInput
        label={t('forwardTo')}
        description={t('forwardToHint')}
        dir="ltr"
        {...form.getInputProps('forwardTo')}
      />
    </DialogForm>
  );
}

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
    <PageFrame title={t('title')} description={t('description')} actions={add}>
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
    </PageFrame>
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

type DeleteProps = { readonly rule: Rule | null; readonly onClose: () => void };

/** Confirms that a rule is deleted; null closes the dialog. */
function DeleteDialog({ rule, onClose }: DeleteProps) {
  const { t } = useTranslation('keywords');
  const keyword = useLast(rule)?.keyword ?? '';
  const remove = useAction({
    run: (id: number) => ok(api.DELETE(`${RULES}/{id}`, { params: { path: { id } } })),
    refresh: RULE_KEYS,
    done: t('delete.done', { keyword }),
    onDone: onClose,
  });
  return (
    <ConfirmDialog
      opened={rule !== null}
      onClose={onClose}
      title={t('delete.title', { keyword })}
      action={t('delete.submit')}
      onConfirm={() => rule && remove.run(rule.id)}
      busy={remove.busy}
    >
      {t('delete.text')}
    </ConfirmDialog>
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
