import { Alert, NativeSelect, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useEffect } from 'react';
import { useTranslation } from 'react-i18next';
import { type Network, senderQuery } from '../../api/networks.ts';
import { ErrorState } from '../../ui/error-state.tsx';
import type { Channel, DraftForm } from '../draft.ts';

type SenderFieldProps = { readonly channel: Channel; readonly form: DraftForm };

/** The field for the sender: a name or number on SMS, a number or agent of the account on networks. */
export function SenderField({ channel, form }: SenderFieldProps) {
  return channel === 'SMS' ? <SmsSender form={form} /> : <NetworkSender network={channel} form={form} />;
}

export function SmsSender({ form }: { readonly form: DraftForm }) {
  const { t } = useTranslation('send');
  return (
    <TextInput
      label={t('smsSender')}
      description={t('smsSenderHint')}
      withAsterisk
      maxLength={17}
      autoComplete="off"
      {...form.getInputProps('smsSender')}
    />
  );
}

type NetworkSenderProps = { readonly network: Network; readonly form: DraftForm };

/** The select for the sender; the first is preselected, because most accounts have only one. */
export function NetworkSender({ network, form }: NetworkSenderProps) {
  const { t } = useTranslation('send');
  const { data = [], error, isPending, refetch } = useQuery(senderQuery(network));
  const first = data[0]?.value;
  const { setFieldValue } = form;
  const isOpen = form.values[network].sender === '';
  useEffect(() => {
    if (isOpen && first !== undefined) setFieldValue(`${network}.sender`, first);
  }, [isOpen, first, network, setFieldValue]);
  if (error !== null) return <ErrorState error={error} onRetry={() => void refetch()} />;
  if (!isPending && data.length === 0) return <Alert color="amber">{t(`noSender.${network}`)}</Alert>;
  return (
    <NativeSelect
      label={t(`sender.${network}`)}
      data={[...data]}
      disabled={isPending}
      withAsterisk
      {...form.getInputProps(`${network}.sender`)}
    />
  );
}
