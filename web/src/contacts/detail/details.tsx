import { Group, Stack } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useTranslation } from 'react-i18next';
import { useAction } from '../../api/action.ts';
import { useSession } from '../../api/session.ts';
import { DateTime } from '../../ui/values/date-time.tsx';
import { Facts } from '../../ui/values/facts.tsx';
import { GuardedButton } from '../../ui/actions/guarded-button.tsx';
import { Section } from '../../ui/section.tsx';
import { Channels } from '../../ui/values/statuses.tsx';
import { ContactFields, type ContactValues, toPatch, toValues } from '../contact-form.tsx';
import { type Contact, type CustomField, NEED, useSaveContact } from '../contact.ts';

type DetailsProps = { readonly contact: Contact; readonly fields: readonly CustomField[] };

/** The form with the contact's names, addresses and custom fields. */
export function Details({ contact, fields }: DetailsProps) {
  const { t } = useTranslation('contacts');
  const { may } = useSession();
  const save = useSaveContact();
  const form = useForm<ContactValues>({ initialValues: toValues(contact, fields) });
  const change = useAction<ContactValues, Contact>({
    run: (values) => save(contact.id, toPatch(values, fields)),
    done: t('detail.saved'),
    form,
    onDone(changed) {
      form.setValues(toValues(changed, fields));
      form.resetDirty(toValues(changed, fields));
    },
  });
  return (
    <Section title={t('detail.details')}>
      <form onSubmit={form.onSubmit((values) => change.run(values))} noValidate>
        <Stack>
          <ContactFields form={form} fields={fields} readOnly={!may(NEED)} />
          <Group justify="flex-end">
            <GuardedButton
              need={NEED}
              type="submit"
              loading={change.busy}
              reason={!form.isDirty() && t('detail.unchanged')}
            >
              {t('ui:save')}
            </GuardedButton>
          </Group>
        </Stack>
      </form>
      <ReadOnlyFacts contact={contact} />
    </Section>
  );
}

/** Read-only facts, derived from the number or from messages sent. */
function ReadOnlyFacts({ contact }: Pick<DetailsProps, 'contact'>) {
  const { t, i18n } = useTranslation('contacts');
  const { country, numberType, communicationSupported, lastContactType, lastContactDate } = contact;
  const countries = new Intl.DisplayNames([i18n.language], { type: 'region' });
  const number = [country && countries.of(country), numberType && t(`numberType.${numberType}`, numberType)];
  return (
    <Facts
      facts={[
        { label: t('detail.number'), value: number.filter(Boolean).join(' · ') || '–' },
        {
          label: t('column.reach'),
          value: communicationSupported.length > 0 ? <Channels channels={communicationSupported} /> : t('ui:none'),
        },
        {
          label: t('column.lastContactDate'),
          value: lastContactDate ? (
            <>
              <DateTime value={lastContactDate} /> · {t(`ui:channel.${lastContactType}`)}
            </>
          ) : (
            t('never')
          ),
        },
        { label: t('column.createdAt'), value: <DateTime value={contact.createdAt} /> },
        { label: t('column.updatedAt'), value: <DateTime value={contact.updatedAt} /> },
      ]}
    />
  );
}
