import { useForm } from '@mantine/form';
import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { ApiError, api, ok } from '../api/send.ts';
import { Dialog, DialogForm } from '../ui/dialog.tsx';
import { CONTACTS, type Contact, type CustomField, fieldsQuery } from './contact.ts';
import { ContactFields, type ContactValues, toPatch, toValues } from './contact-form.tsx';

type CreateDialogProps = { readonly opened: boolean; readonly onClose: () => void };

/** Dialog that creates a contact and opens its page. */
export function CreateDialog({ opened, onClose }: CreateDialogProps) {
  const { t } = useTranslation('contacts');
  const fields = useQuery({ ...fieldsQuery, enabled: opened });
  return (
    <Dialog opened={opened} onClose={onClose} title={t('create.title')} size="lg">
      {opened && fields.data && <Create fields={fields.data} onClose={onClose} />}
    </Dialog>
  );
}

type CreateProps = { readonly fields: readonly CustomField[]; readonly onClose: () => void };

function Create({ fields, onClose }: CreateProps) {
  const { t } = useTranslation('contacts');
  const navigate = useNavigate();
  const form = useForm<ContactValues>({
    initialValues: toValues({}, fields),
    validate: { phoneNumber: (number, { email }) => (number.trim() || email.trim() ? null : t('create.neither')) },
  });
  const create = useAction<ContactValues, Contact>({
    run: (values) =>
      ok(api.POST(CONTACTS, { body: toPatch(values, fields) })).catch((error) => rethrow(error, t('create.taken'))),
    refresh: [['contacts']],
    done: ({ name }) => t('create.done', { name }),
    form,
    onDone({ id }) {
      onClose();
      void navigate({ to: `/contacts/${id}` });
    },
  });
  return (
    <DialogForm
      onSubmit={form.onSubmit((values) => create.run(values))}
      action={t('create.submit')}
      busy={create.busy}
      onClose={onClose}
      noValidate
    >
      <ContactFields form={form} fields={fields} />
    </DialogForm>
  );
}

/** Turns the conflict of a duplicate number into an error of the number field. */
function rethrow(error: unknown, message: string): never {
  if (!(error instanceof ApiError) || error.status !== 409) throw error;
  throw new ApiError({ status: 400, message, details: [{ field: 'phoneNumber', message }] });
}
