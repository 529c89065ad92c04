import { Group, Stack, TextInput } from '@mantine/core';
import { BookUser } from 'lucide-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { ContactSearch, type FoundContact } from '../../ui/contact-search.tsx';
import { GuardedButton } from '../../ui/actions/guarded-button.tsx';
import { type DraftForm, numberOf } from '../draft.ts';

/** The field for the recipient: a number, typed or of a contact. */
export function RecipientField({ form }: { readonly form: DraftForm }) {
  const { t } = useTranslation('send');
  const [isSearching, setIsSearching] = useState(false);
  const { destination, contactName } = form.values;
  const take = ({ name, phoneNumber }: FoundContact): void => {
    form.setValues({ destination: phoneNumber, contactName: name });
    form.clearFieldError('destination');
  };
  return (
    <Stack gap="xs">
      <TextInput
        type="tel"
        label={t('number')}
        description={contactName === '' ? t('numberHint') : t('numberOf', { name: contactName })}
        withAsterisk
        autoComplete="off"
        maxLength={50}
        value={destination}
        error={form.errors['destination']}
        onChange={(event) => take({ name: '', phoneNumber: event.currentTarget.value })}
      />
      <Group>
        <GuardedButton
          need={{ scope: 'contacts', write: false }}
          variant="default"
          size="compact-sm"
          leftSection={<BookUser size={15} />}
          aria-expanded={isSearching}
          onClick={() => setIsSearching(!isSearching)}
        >
          {t(isSearching ? 'contactsClose' : 'contactsOpen')}
        </GuardedButton>
      </Group>
      {isSearching && (
        <ContactSearch
          kind="choose"
          chosen={[numberOf(form.values)]}
          onChoose={(contact) => {
            take(contact);
            setIsSearching(false);
          }}
        />
      )}
    </Stack>
  );
}
