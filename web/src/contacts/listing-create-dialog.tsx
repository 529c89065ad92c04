import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { ApiError, api, ok } from '../api/send.ts';
import { FormDialog } from '../ui/form-dialog.tsx';
import { CONTACTS, type Contact, fieldsQuery } from './contact.ts';
import { ContactFields, type ContactValues, toPatch, toValues } from './contact-form.tsx';

/** Dialog that creates a contact and opens its page. */
export function CreateDialog() {
  const { t } = useTranslation('contacts');
  const navigate = useNavigate();
  const { data: fields } = useQuery(fieldsQuery);
  if (fields === undefined) return null;
  return (
    <FormDialog<ContactValues, Contact>
      title={t('create.title')}
      values={toValues({}, fields)}
      validate={{ phoneNumber: (number, { email }) => (number.trim() || email.trim() ? null : t('create.neither')) }}
      run={(values) =>
        ok(api.POST(CONTACTS, { body: toPatch(values, fields) })).catch((error) => rethrow(error, t('create.taken')))
      }
      refresh={[['contacts']]}
      done={({ name }) => t('create.done', { name })}
      onDone={({ id }) => void navigate({ to: `/contacts/${id}` })}
      action={t('create.submit')}
      noValidate
    >
      {(form) => <ContactFields form={form} fields={fields} />}
    </FormDialog>
  );
}

/** Turns the conflict of a duplicate number into an error of the number field. */
function rethrow(error: unknown, message: string): never {
  if (!(error instanceof ApiError) || error.status !== 409) throw error;
  throw new ApiError({ status: 400, message, details: [{ field: 'phoneNumber', message }] });
}
