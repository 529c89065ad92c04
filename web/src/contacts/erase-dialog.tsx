import { List, Loader, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { api, ok } from '../api/send.ts';
import { QuestionDialog } from '../ui/dialog.tsx';
import type { Contact } from './contact.ts';

const ERASURES = '/api/partner-gateway/v1/privacy/erasures';
const POLL_MS = 500;

const request = (contactId: number, dryRun: boolean) => ok(api.POST(ERASURES, { body: { contactId, dryRun } }));
const find = (erasureId: string, signal: AbortSignal) =>
  ok(api.GET(`${ERASURES}/{erasureId}`, { params: { path: { erasureId } }, signal }));

type EraseDialogProps = { readonly contact: Contact; readonly onDone: () => void };

/** The dialog that erases a person from the account, once it shows what would be erased. */
export function EraseDialog({ contact: { id, name, phoneNumber }, onDone }: EraseDialogProps) {
  const { t } = useTranslation('contacts');
  const counts = useCounts(id);
  return (
    <QuestionDialog
      title={t('erase.title', { name })}
      text={
        <Stack gap="xs">
          <Text size="sm">{t('erase.text')}</Text>
          {counts === undefined ? <Loader size="sm" aria-label={t('erase.counting')} /> : <Counts counts={counts} />}
        </Stack>
      }
      action={t('erase.submit')}
      typed={phoneNumber ?? name}
      run={() => request(id, false)}
      refresh={[['contacts']]}
      done={t('erase.done')}
      onDone={onDone}
    />
  );
}

/** Counts the rows that an erasure would reach, by table; undefined while it counts. */
function useCounts(contactId: number): Readonly<Record<string, number>> | undefined {
  const tried = useQuery({
    queryKey: ['erasures', 'try', contactId],
    queryFn: () => request(contactId, true),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  });
  const erasureId = tried.data?.erasureId;
  const found = useQuery({
    queryKey: ['erasures', erasureId],
    queryFn: ({ signal }) => find(erasureId ?? '', signal),
    enabled: erasureId !== undefined,
    refetchInterval: ({ state }) => (state.data?.state === 'DONE' ? false : POLL_MS),
  });
  return found.data?.counts ?? undefined;
}

/** The kinds that people know; all others are one number. */
const KNOWN = ['message', 'inbound_message', 'conversation', 'consent', 'campaign_recipient'] as const;

function Counts({ counts }: { readonly counts: Readonly<Record<string, number>> }) {
  const { t } = useTranslation('contacts');
  const known = KNOWN.flatMap((table) => (counts[table] ? [{ table, count: counts[table] }] : []));
  const all = Object.values(counts).reduce((sum, count) => sum + count, 0);
  const rest = all - known.reduce((sum, { count }) => sum + count, 0);
  return (
    <List size="sm">
      {known.map(({ table, count }) => (
        <List.Item key={table}>{t(`erase.${table}`, { count })}</List.Item>
      ))}
      <List.Item>{t('erase.rest', { count: rest })}</List.Item>
    </List>
  );
}
