/** Ways of notifying a user of new messages while the window has no focus, in this browser. */
export type AlertChoice = { readonly desktop: boolean; readonly sound: boolean };

const KEY = 'heliograph-alerts';
const NONE: AlertChoice = { desktop: false, sound: false };

export function readAlertChoice(): AlertChoice {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(KEY) ?? 'null');
    if (typeof stored !== 'object' || stored === null) return NONE;
    return { desktop: Reflect.get(stored, 'desktop') === true, sound: Reflect.get(stored, 'sound') === true };
  } catch {
    return NONE;
  }
}

export const writeAlertChoice = (choice: AlertChoice): void => localStorage.setItem(KEY, JSON.stringify(choice));

/** Asks for the permission to show desktop notifications. Resolves with true if it is granted. */
export async function mayNotify(): Promise<boolean> {
  if (!('Notification' in window)) return false;
  return (await Notification.requestPermission()) === 'granted';
}

type Arrived = { readonly title: string; readonly text: string; readonly onOpen: () => void };

/** Notifies the user of a new message as they have chosen. No desktop notification while the window has focus. */
export function alertOf({ title, text, onOpen }: Arrived): void {
  const { desktop, sound } = readAlertChoice();
  if (sound) playTone();
  if (!desktop || document.hasFocus() || !('Notification' in window) || Notification.permission !== 'granted') return;
  const shown = new Notification(title, { body: text, tag: 'heliograph-inbox' });
  shown.addEventListener('click', () => {
    window.focus();
    shown.close();
    onOpen();
  });
}

const TONES_HZ = [880, 1175];
const TONE_SECONDS = 0.12;

/** Plays two short tones. Browsers are silent until the user has clicked on the page once. */
function playTone(): void {
  const audio = new AudioContext();
  TONES_HZ.forEach((frequency, at) => {
    const [tone, volume] = [audio.createOscillator(), audio.createGain()];
    const start = audio.currentTime + at * TONE_SECONDS;
    tone.frequency.value = frequency;
    volume.gain.setValueAtTime(0.08, start);
    volume.gain.exponentialRampToValueAtTime(0.001, start + TONE_SECONDS);
    tone.connect(volume).connect(audio.destination);
    tone.start(start);
    tone.stop(start + TONE_SECONDS);
    if (at === TONES_HZ.length - 1) tone.addEventListener('ended', () => void audio.close());
  });
}
