import type { Mail } from '../../platform/mail/transport.ts';
import { type Language, paragraphs } from '../mail-text.ts';

type Texts = { readonly subject: string; readonly text: (link: string, username: string) => string };

const TEXTS: Readonly<Record<Language, Texts>> = {
  en: {
    subject: 'Choose a new password',
    text: (link, username) =>
      paragraphs(
        `A new password was requested for the user ${username}. To choose one, open this link within one hour:`,
        link,
        'The link works once. If you did not request it, ignore this mail: your password is unchanged.',
      ),
  },
  it: {
    subject: 'Scegli una nuova password',
    text: (link, username) =>
      paragraphs(
        `È stata richiesta una nuova password per l’utente ${username}. Per sceglierla, apri questo link entro un’ora:`,
        link,
        'Il link funziona una sola volta. Se non l’hai richiesta tu, non fare nulla: la tua password resta invariata.',
      ),
  },
  es: {
    subject: 'Elige una contraseña nueva',
    text: (link, username) =>
      paragraphs(
        `Se ha pedido una contraseña nueva para el usuario ${username}. Para elegirla, abre este enlace antes de una hora:`,
        link,
        'El enlace funciona una sola vez. Si no la has pedido tú, no hagas nada: tu contraseña no cambia.',
      ),
  },
  de: {
    subject: 'Neues Passwort wählen',
    text: (link, username) =>
      paragraphs(
        `Für den Benutzer ${username} wurde ein neues Passwort angefordert. Um es zu wählen, öffnen Sie diesen Link ` +
          'innerhalb einer Stunde:',
        link,
        'Der Link funktioniert einmal. Wenn die Anforderung nicht von Ihnen kommt, müssen Sie nichts tun: Ihr Passwort ' +
          'bleibt, wie es ist.',
      ),
  },
};

/** Makes the mail with the link to a new password. */
export const resetMail = (language: Language, { username, link }: { username: string; link: string }): Mail => ({
  to: username,
  subject: TEXTS[language].subject,
  text: TEXTS[language].text(link, username),
});
