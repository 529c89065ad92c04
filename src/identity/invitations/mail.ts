import type { Mail } from '../../platform/mail/transport.ts';
import { inOneLine, type Language, paragraphs } from '../mail-text.ts';

type Texts = { readonly subject: string; readonly text: (link: string, account: string) => string };

const TEXTS: Readonly<Record<Language, Texts>> = {
  en: {
    subject: 'Invitation to Heliograph',
    text: (link, account) =>
      paragraphs(
        `You were invited to the account “${account}”. To choose a password, open this link within seven days:`,
        link,
        'Your username is this email address. If you did not expect an invitation, ignore this mail.',
      ),
  },
  it: {
    subject: 'Invito a Heliograph',
    text: (link, account) =>
      paragraphs(
        `Hai ricevuto un invito all’account «${account}». Per scegliere una password, apri questo link entro sette giorni:`,
        link,
        'Il tuo nome utente è questo indirizzo. Se non aspettavi un invito, non fare nulla.',
      ),
  },
  es: {
    subject: 'Invitación a Heliograph',
    text: (link, account) =>
      paragraphs(
        `Te han invitado a la cuenta «${account}». Para elegir una contraseña, abre este enlace antes de siete días:`,
        link,
        'Tu nombre de usuario es esta dirección de correo. Si no esperabas una invitación, no hagas nada.',
      ),
  },
  de: {
    subject: 'Einladung zu Heliograph',
    text: (link, account) =>
      paragraphs(
        `Sie wurden in das Konto „${account}“ eingeladen. Um ein Passwort zu wählen, öffnen Sie diesen Link innerhalb ` +
          'von sieben Tagen:',
        link,
        'Ihr Benutzername ist diese E-Mail-Adresse. Wenn Sie keine Einladung erwartet haben, müssen Sie nichts tun.',
      ),
  },
};

/** Makes the mail with the link of an invitation. */
export const invitationMail = (
  language: Language,
  { email, account, link }: { email: string; account: string; link: string },
): Mail => ({
  to: email,
  subject: TEXTS[language].subject,
  text: TEXTS[language].text(link, inOneLine(account)),
});
