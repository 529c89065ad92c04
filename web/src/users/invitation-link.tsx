import { useTranslation } from 'react-i18next';
import { SecretOnce } from '../ui/actions/secret-once.tsx';

/** The link of an invitation, which the admin passes on because no mail was sent. */
export function InvitationLink({ link }: { readonly link: string }) {
  const { t } = useTranslation('users');
  return <SecretOnce label={t('invitation.link')} secret={link} note={t('invitation.linkNote')} />;
}
